# Protects replay: a standby makes the same pages, byte for byte
# (wal_consistency_checking), answers exactly while it replays, and can take over.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', standby => 1, conf => "wal_consistency_checking = 'all'\nmax_wal_size = 4GB\n");
my $n = rows(8_000);
$primary->safe_psql('postgres', "CREATE TABLE t (id bigint, fp bigint); INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i;
	CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0)");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# Queries must not be cancelled, replay may wait for them a little.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 60s\n");
$standby->start;

my $file = PostgreSQL::Test::Utils::tempdir . '/agree.sql';
append_to_file($file, "\\set i random(1, 3000)\n\\set r random(0, 20)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.agree('t', test.fp('hot', :i), :r);\nCOMMIT;\n");
my ($out, $err) = ('', '');
my $queries = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-j', 1, '-T', 600, '-f', $file, $standby->connstr('postgres') ], '>', \$out, '2>', \$err);

# Every kind of record of the index: inserts, splits, bulk deletes, second
# levels, whole builds, a new file.
foreach my $round (1 .. 3)
{
	my $from = $n * $round;
	$primary->safe_psql('postgres', $_) foreach (
		"INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series($from + 1, $from + $n) i",
		"DELETE FROM t WHERE hashint8(id) % 3 = $round - 1", 'VACUUM t',
		"INSERT INTO t SELECT i, test.fp('duplicates', i) FROM generate_series(1, 3000) i",
		"BEGIN; INSERT INTO t SELECT i, test.fp('skewed', i) FROM generate_series(1, 2000) i; ROLLBACK",
		'UPDATE t SET fp = test.flip(fp, 3, id) WHERE id % 20 = 7', 'VACUUM t',
		$round == 2 ? 'REINDEX INDEX t_idx' : 'REINDEX INDEX CONCURRENTLY t_idx',
		'DELETE FROM t WHERE fp = 4711', 'VACUUM t');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	is_sound($primary, 't', 't_idx', "round $round, primary", queries => 3);
	is_sound($standby, 't', 't_idx', "round $round, standby", queries => 3);
}
IPC::Run::signal($queries, 'INT');
eval { IPC::Run::finish($queries) };
unlike($err, qr/ERROR|aborted|FATAL/, 'no query on the standby failed or answered wrongly');
cmp_ok(scalar_of($standby, "SELECT coalesce(sum(rows), 0) FROM banding_stats('t_idx')"), '>', 0, 'banding_stats works on a standby');
my $hot = scalar_of($standby, "SELECT hot_buckets FROM banding_stats('t_idx')");
cmp_ok($hot, '>', 0, 'with hot buckets');

# A snapshot that is older than an index made concurrently sees rows that it lacks: that is said, and not that it is damaged.
my $old = session($standby);
${ $old->{in} } .= "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'seen ' || pg_current_snapshot();\n";
IPC::Run::pump($old->{run}) until ${ $old->{out} } =~ /seen/;
$primary->safe_psql('postgres', $_) foreach 'DELETE FROM t WHERE id % 5 = 0', 'REINDEX INDEX CONCURRENTLY t_idx';
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
${ $old->{in} } .= "SELECT banding_check('t_idx', true);\n";
like(finish_session($old), qr/cannot be checked by the snapshot/, 'a snapshot of a standby that is older than the index');
is_sound($standby, 't', 't_idx', 'a later one', queries => 2);

# Restarted standby, then promoted in the middle of a load.
$standby->restart;
is_sound($standby, 't', 't_idx', 'standby restarted', queries => 2);
my $load = session($primary);
${ $load->{in} } .= "DO \$\$ BEGIN FOR i IN 1 .. 100000 LOOP INSERT INTO t VALUES (10000000 + i, test.fp('hot', i)); COMMIT; END LOOP; END \$\$;\n";
IPC::Run::pump_nb($load->{run});
wait_until($standby, 'SELECT count(*) > 200 FROM t WHERE id > 10000000');
$standby->promote;
$primary->stop('immediate');
eval { IPC::Run::kill_kill($load->{run}, grace => 1) };
is_sound($standby, 't', 't_idx', 'promoted', queries => 3);
$standby->safe_psql('postgres', "INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(20000000, 20005000) i; DELETE FROM t WHERE id % 2 = 0; VACUUM t");
is_sound($standby, 't', 't_idx', 'promoted, and written to', queries => 3);
log_is_clean($_, 'standby') foreach ($primary, $standby);
$standby->stop;
done_testing();
