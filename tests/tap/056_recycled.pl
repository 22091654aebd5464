# Protects indexes whose scopes come and go: pages that VACUUM has emptied are used again, so the index does not grow; and
# searches on the server and on its standby, before and after crashes, answer as a sequential scan under the same snapshot
# while pages are recycled under them. Replayed pages are those of the primary, byte for byte.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', standby => 1, conf => "wal_consistency_checking = 'generic'\nmax_wal_size = 4GB\n");
my $n = rows(600);
# Tenants below ten stay, of the others a fifth goes in each round. The slow part of filling is done by the index.
$primary->safe_psql('postgres', <<SQL);
CREATE TABLE t (id bigserial, tenant integer, fp bigint);
CREATE INDEX t_idx ON t USING banding (tenant, fp);
CREATE FUNCTION test.tenant(tenant integer) RETURNS void LANGUAGE sql AS \$\$
	INSERT INTO t (tenant, fp) SELECT tenant, CASE WHEN i % 50 > 0 THEN test.fp('uniform', tenant * 1000 + i) END FROM generate_series(1, $n) i \$\$;
-- An error if the index gives other rows of a tenant than a sequential scan.
CREATE FUNCTION test.tenant_agrees(tenant integer, i bigint, r integer) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE found text; truth text; search text;
	condition text := CASE WHEN i % 9 = 0 THEN 'fp IS NULL' ELSE format('near_dup(fp, %s, %s)', test.fp('uniform', tenant * 1000 + i), r) END;
BEGIN
	search := format('SELECT string_agg(id::text, '','' ORDER BY id) FROM t WHERE tenant = %s AND %s', tenant, condition);
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', (i % 2 = 0)::text, true), set_config('enable_indexscan', (i % 2 = 1)::text, true);
	EXECUTE search INTO found;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	EXECUTE search INTO truth;
	IF found IS DISTINCT FROM truth THEN RAISE EXCEPTION '%: index %, truth %', search, found, truth; END IF;
END \$\$;
SELECT test.tenant(i) FROM generate_series(1, 60) i;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1s\nmax_standby_streaming_delay = 60s\n");
$standby->start;

my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/read.sql", "\\set tenant random(1, 12)\n\\set i random(1, $n)\n\\set r random(0, 24)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n"
	. "SELECT test.tenant_agrees(:tenant, :i, :r);\nCOMMIT;\n");
# One row each of many tenants: splits of leaves that are about to be emptied, and inserts into emptied ones.
append_to_file("$dir/write.sql", "\\set tenant random(100000, 200000)\nINSERT INTO t (tenant, fp) SELECT :tenant, test.random_fp(:tenant + i) FROM generate_series(1, 5) i;\n");
my @clients;
sub client
{
	my ($node, $file, @how) = @_;
	my ($out, $err) = ('', '');
	push @clients, { run => IPC::Run::start([ 'pgbench', '-n', '-c', 1, @how, '-T', 600, '-f', "$dir/$file", $node->connstr('postgres') ], '>', \$out, '2>', \$err), err => \$err };
	return;
}
sub stop_clients
{
	my ($name) = @_;
	IPC::Run::signal($_->{run}, 'INT') foreach @clients;
	eval { IPC::Run::finish($_->{run}) } foreach @clients;
	unlike(join("\n", map { ${ $_->{err} } } @clients), qr/ERROR|aborted|FATAL/, "$name: no client failed or got a wrong answer");
	@clients = ();
	return;
}
sub pages { return scalar_of($primary, "SELECT pg_relation_size('t_idx') / 8192"); }
# VACUUM until nobody, on the standby neither, may still see a row that is dead. What it said.
sub vacuum
{
	my ($node) = @_;
	my $said = '';
	foreach (1 .. 120)
	{
		my $now = ($node->psql('postgres', 'VACUUM VERBOSE t'))[2];
		$said .= $now;
		return $said if $now =~ /\b0 (?:are dead but not yet removable|dead row versions cannot be removed yet)/;
		sleep 1;
	}
	die 'dead rows have to stay';
}
# A fifth of the tenants goes, and as many come. How many pages were free between.
my $tenant = 1000;
sub churn
{
	my ($node, %how) = @_;
	my $gone = scalar_of($node, 'WITH gone AS (DELETE FROM t WHERE tenant >= 10 AND hashint4(tenant + ' . $tenant . ') % 5 = 0 RETURNING tenant)
		SELECT count(*) / ' . $n . ' FROM gone');
	$how{beside_others} ? $node->safe_psql('postgres', 'VACUUM t') : vacuum($node);
	my $free = scalar_of($node, "SELECT unused_pages FROM banding_stats('t_idx')");
	my $to = $tenant + $gone;
	$node->safe_psql('postgres', "SELECT test.tenant(i) FROM generate_series($tenant + 1, $to) i");
	$tenant = $to + 1;
	return $free;
}

client($primary, 'read.sql');
client($primary, 'write.sql', '-R', 20);
client($standby, 'read.sql');
foreach my $round (1 .. 6)
{
	churn($primary, beside_others => 1);
	$primary->safe_psql('postgres', "DELETE FROM t WHERE tenant >= 100000 AND tenant % 4 <> $round % 4; SELECT banding_check('t_idx')");
	$standby->safe_psql('postgres', "SELECT banding_check('t_idx')");
}
stop_clients('while tenants come and go');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
check_is_clean($_, 't_idx', 'after six rounds, ' . $_->name) foreach ($primary, $standby);

# At rest: free pages are there, they are used, and the index stays as large as it was.
$primary->safe_psql('postgres', 'DELETE FROM t WHERE tenant >= 100000');
vacuum($primary);
$primary->safe_psql('postgres', 'REINDEX INDEX t_idx');
my $free = 0;
$free += churn($primary) foreach 1 .. 4;
my $settled = pages();
$free += churn($primary) foreach 1 .. 4;
cmp_ok($free, '>', $settled / 5, 'pages have become free');
cmp_ok(pages(), '<', $settled * 1.2, "four rounds after $settled pages the index has hardly grown");
note 'pages: ', pages(), ", free in eight rounds: $free";
$primary->safe_psql('postgres', 'DELETE FROM t WHERE tenant % 2 = 0');
like(vacuum($primary), qr/"t_idx".*?\s[1-9]\d* (?:are |index pages were )?newly deleted/s, 'VACUUM VERBOSE counts them');

# Crashes in the middle of it.
foreach my $round (1 .. 3)
{
	client($primary, 'write.sql', '-R', 20);
	my $load = session($primary);
	${ $load->{in} } .= "DELETE FROM t WHERE tenant >= 10 AND hashint4(tenant + $round) % 3 = 0; SET vacuum_cost_delay = '1ms'; VACUUM t;\n" x 3;
	IPC::Run::pump_nb($load->{run});
	select undef, undef, undef, 0.5 * $round;
	$primary->stop('immediate');
	eval { IPC::Run::kill_kill($load->{run}, grace => 1) };
	eval { IPC::Run::finish($_->{run}) } foreach @clients;
	@clients = ();
	$primary->start;
	check_is_clean($primary, 't_idx', "crash $round");
	$primary->safe_psql('postgres', 'DELETE FROM t WHERE tenant >= 100000; VACUUM t');
	churn($primary);
	$primary->safe_psql('postgres', 'SELECT test.tenant_agrees(tenant, i, (i % 25)::integer) FROM (SELECT tenant FROM t GROUP BY 1 ORDER BY 1 LIMIT 15) s, generate_series(1, 8) i');
	check_is_clean($primary, 't_idx', "crash $round, and on");
}

# The standby takes over, and goes on with the free pages that it was told of.
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
$primary->stop;
$standby->promote;
churn($standby) foreach 1 .. 2;
$standby->safe_psql('postgres', 'SELECT test.tenant_agrees(tenant, i, (i % 25)::integer) FROM (SELECT tenant FROM t GROUP BY 1 ORDER BY 1 LIMIT 15) s, generate_series(1, 8) i');
check_is_clean($standby, 't_idx', 'promoted');
log_is_clean($_, 'recycling') foreach ($primary, $standby);
$standby->stop;
done_testing();
