# Protects tables that are updated or deleted from while no VACUUM comes: entries of dead rows go before, no entry of a live
# row does, a place in the table that is taken again keeps its entries, and standbys follow.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('dead', standby => 1, conf => "wal_consistency_checking = 'Generic'\nmax_wal_size = 4GB\n");
$node->backup('base');
my $size = sub { scalar_of($node, "SELECT pg_relation_size('$_[0]')") };
my $entries = sub { scalar_of($node, "SELECT rows FROM banding_stats('$_[0]')") };

# No update is HOT, for its column is indexed.
my $n = rows(4_000);
$node->safe_psql('postgres', "CREATE TABLE u (id bigint, touched bigint, tenant int, fp bigint);
	INSERT INTO u SELECT i, 0, i % 3, CASE WHEN i % 50 > 0 THEN test.fp('skewed', i) END FROM generate_series(1, $n) i;
	CREATE INDEX ON u (touched); CREATE INDEX u_btree ON u (fp);
	CREATE INDEX u_idx ON u USING banding (fp); CREATE INDEX u_scoped ON u USING banding (tenant, fp)");
my %before = map { $_ => $size->($_) } qw(u_idx u_scoped);
$node->safe_psql('postgres', "UPDATE u SET touched = $_ WHERE id % 4 = $_ % 4") foreach 1 .. 40;
foreach my $index (sort keys %before)
{
	my $grown = $size->($index) / $before{$index};
	note "every row updated ten times: $index is $grown times as large, with ", $entries->($index), " rows of $n";
	cmp_ok($grown, '<', 3, "$index does not grow with the versions of a row");
}
is_sound($node, 'u', 'u_idx', 'after updates', queries => 5);

# Of what a search meets, it removes four, so that nobody waits for more, whichever way it reads; others remove the next.
$node->safe_psql('postgres', "CREATE TABLE d (id bigint, fp bigint); INSERT INTO d SELECT i, i % 4 FROM generate_series(1, 2000) i;
	CREATE INDEX d_idx ON d USING banding (fp); DELETE FROM d WHERE id % 2 = 0");
# Then PostgreSQL prunes the last page too, which is not full.
$node->safe_psql('postgres', 'ALTER TABLE d SET (fillfactor = 10)');
my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
my $search = 'SELECT count(*) FROM d WHERE near_dup(fp, 0, 3);';
$node->safe_psql('postgres', "$by_index $search");
is($entries->('d_idx'), 1996, 'a search removes the entries of four deleted rows');
$node->safe_psql('postgres', "$by_index SELECT fp FROM d ORDER BY fp <~> 0");
is($entries->('d_idx'), 1992, 'so does one of all rows, nearest first');
$node->safe_psql('postgres', "$by_index SELECT count(x) FROM generate_series(1, 20), LATERAL (SELECT fp FROM d WHERE near_dup(fp, generate_series, 3)) x");
is($entries->('d_idx'), 1988, 'and a join, in all its searches');
$node->safe_psql('postgres', "$by_index " . $search x 200);
cmp_ok($entries->('d_idx'), '<=', 1988 - 600, 'search by search they have removed the entries of deleted rows');
is_sound($node, 'd', 'd_idx', 'after searches', queries => 3);

# Rows whose pages PostgreSQL does not prune, those of an aborted insert, do not keep searches from the others behind them.
$node->safe_psql('postgres', "CREATE TABLE a (id bigint, fp bigint, pad text) WITH (fillfactor = 10); CREATE INDEX a_idx ON a USING banding (fp);
	BEGIN; INSERT INTO a SELECT i, 0, repeat('x', 1000) FROM generate_series(1, 70) i; ROLLBACK;
	INSERT INTO a SELECT i, 0, repeat('x', 1000) FROM generate_series(1, 700) i; DELETE FROM a WHERE id % 2 = 0");
$node->safe_psql('postgres', $by_index . 'SELECT count(*) FROM a WHERE near_dup(fp, 0, 3);' x 120);
cmp_ok($entries->('a_idx'), '<=', 770 - 330, 'searches pass the rows of an aborted insert, and remove the entries of deleted ones');
is_sound($node, 'a', 'a_idx', 'after an aborted insert', queries => 3);

# A page of the table that has room is left as it is: whether it is to be pruned is PostgreSQL's to say.
SKIP:
{
	skip 'no pageinspect', 1 unless scalar_of($node, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pageinspect'");
	$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect; CREATE TABLE roomy (fp bigint) WITH (autovacuum_enabled = off);
		INSERT INTO roomy SELECT generate_series(1, 60); CREATE INDEX ON roomy USING banding (fp); DELETE FROM roomy WHERE fp <= 20');
	$node->safe_psql('postgres', $by_index . 'SELECT count(*) FROM roomy WHERE near_dup(fp, 1, 3);' x 3);
	is(scalar_of($node, "SELECT count(*) FILTER (WHERE lp_flags = 3) || ' ' || (SELECT flags & 2 FROM page_header(get_raw_page('roomy', 0))) FROM heap_page_items(get_raw_page('roomy', 0))"),
		'0 0', 'a search prunes no page that has room, nor says that it has none');
}

# A standby replays all of it. (From here on its feedback, which comes every ten seconds, keeps rows from being dead.)
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1s\nmax_standby_streaming_delay = 60s\n");
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is_sound($standby, $_, "${_}_idx", "$_ on the standby", queries => 5) foreach qw(u d);

# All at once: places in the table are taken again and again, by rows with the same fingerprints and by others.
$node->safe_psql('postgres', "CREATE TABLE m (id bigint PRIMARY KEY, touched int, fp bigint);
	INSERT INTO m SELECT i, 0, test.fp('hot', i % 500) FROM generate_series(1, 3000) i;
	CREATE INDEX m_touched ON m (touched); CREATE INDEX m_idx ON m USING banding (fp) WITH (mu = 0)");
my $directory = PostgreSQL::Test::Utils::tempdir;
my %load = (
	touch => "\\set i random(1, 3000)\nUPDATE m SET touched = touched + 1 WHERE id = :i;\n",
	move => "\\set i random(1, 3000)\nUPDATE m SET fp = test.fp('hot', :i % 500) WHERE id = :i;\n",
	replace => "\\set i random(1, 3000)\nWITH gone AS (DELETE FROM m WHERE id = :i RETURNING *) INSERT INTO m SELECT id + 1000000, 0, fp FROM gone ON CONFLICT DO NOTHING;\nDELETE FROM m WHERE id = :i + 1000000;\nINSERT INTO m VALUES (:i, 0, test.fp('hot', :i % 500)) ON CONFLICT DO NOTHING;\n",
	rollback => "\\set i random(1, 3000)\nBEGIN; UPDATE m SET touched = touched + 1 WHERE id BETWEEN :i AND :i + 5; ROLLBACK;\n",
	search => "\\set i random(1, 500)\n\\set r random(0, 12)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSET LOCAL enable_bitmapscan = off;\nSELECT test.agree('m', test.fp('hot', :i), :r);\nCOMMIT;\n",
	vacuum => "VACUUM (SKIP_LOCKED) m;\n\\sleep 20 ms\n");
append_to_file("$directory/$_.sql", $load{$_}) foreach keys %load;
my ($out, $err) = ('', '');
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
my $queries = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-j', 1, '-T', 600, '-f', "$directory/search.sql", $standby->connstr('postgres') ], '>', \$out, '2>', \$err);
$node->command_ok(
	[ 'pgbench', '-n', '-c', 6, '-j', 1, '-t', rows(300), (map { ('-f', "$directory/$_") } 'touch.sql@4', 'move.sql@2', 'replace.sql@2', 'rollback.sql@1', 'search.sql@3', 'vacuum.sql@1'), 'postgres' ],
	'updates, deletions and searches beside VACUUM');
is_sound($node, 'm', 'm_idx', 'after the load', queries => 8);
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
IPC::Run::signal($queries, 'INT');
eval { IPC::Run::finish($queries) };
unlike($err, qr/ERROR|aborted|FATAL/, 'no query on the standby failed or answered wrongly');
is_sound($standby, 'm', 'm_idx', 'the standby after the load', queries => 8);
$node->safe_psql('postgres', 'VACUUM m; VACUUM u; VACUUM d');
is_sound($node, $_, "${_}_idx", "$_ after VACUUM", queries => 3) foreach qw(m u d);
is($entries->('d_idx'), 1000, 'VACUUM removes the rest');
log_is_clean($_, 'dead rows') foreach ($node, $standby);
$_->stop foreach ($standby, $node);
done_testing();
