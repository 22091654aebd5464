# Protects builds that read the table on parallel workers: the index is that of a serial build, page for page; what goes
# wrong in a worker or beside one is an error of the statement, and leaves nothing behind.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('build_workers', conf => "max_worker_processes = 16\nmax_parallel_workers = 8\nmin_parallel_table_scan_size = 0
maintenance_work_mem = '128MB'\n");
my $n = rows(12_000);
$node->safe_psql('postgres', "CREATE ROLE keeper; GRANT ALL ON SCHEMA public, test TO keeper");
# Rows of several versions, with gaps and without fingerprints; a transaction that was rolled back left some.
$node->safe_psql('postgres', <<SQL);
CREATE TABLE t (id bigint, tenant integer, fp bigint, body text, note integer DEFAULT 0) WITH (fillfactor = 60);
INSERT INTO t SELECT i, i % 5, CASE WHEN i % 7 > 0 THEN test.fp('hot', i) END,
    CASE WHEN i % 11 > 0 THEN 'Street lamp ' || i / 3 || ' in front of school ' || i % 400 || ' is broken' END FROM generate_series(1, $n) i;
UPDATE t SET note = 1 WHERE id % 3 = 0; UPDATE t SET note = 2 WHERE id % 6 = 0; DELETE FROM t WHERE id % 13 = 0;
BEGIN; INSERT INTO t SELECT -i, 1, i FROM generate_series(1, 500) i; ROLLBACK;
ANALYZE t;
-- What the build does depends on who reads a row: its backend, or a worker.
CREATE FUNCTION test.paced(fp bigint, leader float, worker float, fails boolean) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS \$\$
BEGIN
    IF pg_catalog.pg_backend_pid()::text = pg_catalog.current_setting('test.leader', true) THEN
        PERFORM pg_catalog.pg_sleep(leader);
    ELSIF fails THEN
        RAISE EXCEPTION 'no fingerprint for %, %', CURRENT_USER, pg_catalog.current_setting('test.setting')
            USING ERRCODE = 'data_exception', DETAIL = 'the detail', HINT = 'the hint';
    ELSE
        PERFORM pg_catalog.pg_sleep(worker);
    END IF;
    RETURN fp;
END \$\$;
-- A few rows a page.
CREATE TABLE wide (id bigint, fp bigint, filling text) WITH (fillfactor = 50);
INSERT INTO wide SELECT i, test.fp('uniform', i), repeat('x', 900) FROM generate_series(1, 400) i;
ANALYZE wide;
ALTER TABLE wide OWNER TO keeper;
SQL

my $leader = "DO 'BEGIN PERFORM set_config(''test.leader'', pg_backend_pid()::text, false), set_config(''test.setting'', ''set here'', false); END';";

# What a statement says about workers: "COUNT of READ rows", or nothing if there were none.
sub workers_of
{
	my ($sql, $before) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', ($before // '') . "; SET client_min_messages = debug1;\n$sql");
	is($ret, 0, "$sql: works") or diag $err;
	return [ map { [/(\d+) parallel workers have read (\d+) of (\d+) rows/] } grep { /parallel workers have read/ } split /\n/, $err ];
}

# The pages of an index without what the log and checksums write into each.
sub pages_of
{
	my ($index) = @_;
	my $file = $node->safe_psql('postgres', "CHECKPOINT; SELECT pg_relation_filepath('$index')");
	return join '', map { substr $_, 10 } unpack '(a8192)*', slurp_file($node->data_dir . "/$file");
}

# An index that has never had rows has -1.
my $counts = "SELECT c.reltuples, greatest(i.reltuples, 0) FROM pg_class c, pg_class i WHERE c.relname = 't' AND i.relname = 't_idx'";
my $live = scalar_of($node, 'SELECT count(*) FROM t');
my %kind = (
	'a column' => [ '(fp)', fp => "'fp'" ],
	'hot buckets' => [ '(fp) WITH (mu = 0)', fp => "'fp'" ],
	'an expression' => [ '(simhash(body))', fp => "'simhash(body)'" ],
	'a predicate' => [ '(fp) WHERE tenant = 3', cond => "'tenant = 3'" ],
	'a scope' => [ '(tenant, fp)', cond => "'tenant = 2'" ],
	'a scope and a predicate, by expressions' => [ '(upper(body), (fp # 1)) WHERE id > 2000' ],
	'nothing' => [ '(fp) WHERE id < 0' ]);
foreach my $kind (sort keys %kind)
{
	my ($what, %o) = @{ $kind{$kind} };
	foreach my $memory ('128MB', '1MB')
	{
		my $name = "an index on $kind in $memory";
		# With so little memory PostgreSQL grants workers only by the table's setting.
		$node->safe_psql('postgres', 'ALTER TABLE t ' . ($memory eq '1MB' ? 'SET (parallel_workers = 2)' : 'RESET (parallel_workers)'));
		my $set = "SET maintenance_work_mem = '$memory'";
		is(@{ workers_of("CREATE INDEX t_idx ON t USING banding $what", "$set; SET max_parallel_maintenance_workers = 0") }, 0, "$name: serial");
		my ($pages, $rows) = (pages_of('t_idx'), scalar_of($node, $counts));
		my $stats = scalar_of($node, "SELECT banding_stats('t_idx')");
		my $workers = workers_of('REINDEX INDEX t_idx', $set);
		is(@$workers, 1, "$name: parallel");
		is("$workers->[0][0] $workers->[0][2]", "2 $live", "$name: two workers, and every row is counted");
		ok(pages_of('t_idx') eq $pages, "$name: the pages are those of a serial build");
		is(scalar_of($node, $counts), $rows, "$name: so are the counts of rows");
		is(scalar_of($node, "SELECT banding_stats('t_idx')"), $stats, "$name: and the statistics");
		check_is_clean($node, 't_idx', $name);
		answers_agree($node, 't', $name, queries => 2, radii => "'{0,3,6,12}'", k => "'{1,20}'", %o) if %o && $memory eq '1MB';
		$node->safe_psql('postgres', 'DROP INDEX t_idx');
	}
}
$node->safe_psql('postgres', 'ALTER TABLE t RESET (parallel_workers)');

# The backend is slow, so workers read nearly everything.
my $slow = 'CREATE INDEX wide_idx ON wide USING banding (test.paced(fp, 0.5, 0, false))';
my $workers = workers_of($slow, $leader);
cmp_ok($workers->[0][1], '>', 200, 'workers have read rows');
check_is_clean($node, 'wide_idx', 'read by workers');
is(scalar_of($node, 'SELECT rows FROM banding_stats($$wide_idx$$)'), '400', 'read by workers: all rows are there');
$node->safe_psql('postgres', 'DROP INDEX wide_idx');

# Where there are no workers, or fewer than granted.
is(@{ workers_of('CREATE INDEX t_idx ON t USING banding (fp); INSERT INTO t VALUES (0, 1, 1); DELETE FROM t WHERE id = 0', 'SET max_parallel_workers = 0') },
	0, 'without workers the build is serial, and the session may write');
check_is_clean($node, 't_idx', 'no workers to be had');
is(workers_of('REINDEX INDEX t_idx', 'SET max_parallel_workers = 1')->[0][0], '1', 'one of two workers');
check_is_clean($node, 't_idx', 'one of two workers');
is(@{ workers_of('BEGIN; TRUNCATE t; TRUNCATE t; ROLLBACK') }, 0, 'an empty table needs none');
$node->safe_psql('postgres', 'DROP INDEX t_idx');

# Where they may not be used.
is(@{ workers_of('CREATE TEMP TABLE mine AS SELECT * FROM t; CREATE INDEX ON mine USING banding (fp)') }, 0, 'a temporary table is read serially');
$node->safe_psql('postgres', 'CREATE FUNCTION test.restricted(fp bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS $$BEGIN RETURN fp + 1; END$$');
is(@{ workers_of('CREATE INDEX t_idx ON t USING banding (test.restricted(fp)); DROP INDEX t_idx') }, 0, 'a function that is not safe runs in the backend');
is(@{ workers_of('CREATE INDEX t_idx ON t USING banding (fp) WHERE test.restricted(id) > 4; DROP INDEX t_idx') }, 0, 'also in a predicate');

# Unlogged and partitioned tables, constraints, tables that the same transaction has made and changed.
is(@{ workers_of('CREATE UNLOGGED TABLE u AS SELECT * FROM t; CREATE INDEX u_idx ON u USING banding (fp)') }, 1, 'an unlogged table');
check_is_clean($node, 'u_idx', 'unlogged');
$node->safe_psql('postgres', 'CREATE TABLE p (LIKE t) PARTITION BY LIST (tenant); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1, 2);
	CREATE TABLE p2 PARTITION OF p DEFAULT; INSERT INTO p SELECT * FROM t');
is(@{ workers_of('CREATE INDEX p_idx ON p USING banding (simhash(body))') }, 2, 'each partition');
check_is_clean($node, "p${_}_simhash_idx", "partition $_") foreach 1, 2;
my ($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nALTER TABLE t ADD EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~)");
like($err, qr/23P01: could not create exclusion constraint/, 'a constraint that the rows break is refused');
is(@{ workers_of('BEGIN; CREATE TABLE fresh (id bigint, fp bigint); INSERT INTO fresh SELECT i, test.random_fp(i) FROM generate_series(1, 3000) i;
	SAVEPOINT a; UPDATE fresh SET fp = fp + 1 WHERE id < 1000; ALTER TABLE fresh ADD CONSTRAINT apart EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~); COMMIT') },
	1, 'a table of the same transaction');
check_is_clean($node, 'apart', 'a table of the same transaction');
is(@{ workers_of('VACUUM FULL fresh') }, 1, 'VACUUM FULL');
check_is_clean($node, 'apart', 'VACUUM FULL');

# A chain of versions that only a worker sees is broken: the index waits for those who see the old one.
my $old = session($node);
${ $old->{in} } .= "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*), 'seen' FROM wide;\n";
IPC::Run::pump($old->{run}) until ${ $old->{out} } =~ /seen/;
$node->safe_psql('postgres', 'UPDATE wide SET fp = fp + 1 WHERE id = 200');
workers_of($slow, $leader);
is(scalar_of($node, 'SELECT indcheckxmin FROM pg_index WHERE indexrelid = $$wide_idx$$::regclass'), 't', 'a broken chain that a worker met is known');
${ $old->{in} } .= "COMMIT;\n";
finish_session($old);
$node->safe_psql('postgres', 'DROP INDEX wide_idx');

sub no_workers_are_left
{
	my ($name) = @_;
	ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"), "$name: no worker is left");
	return;
}

# An error in a worker.
($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$leader
	BEGIN; CREATE INDEX wide_idx ON wide USING banding (test.paced(fp, 0.5, 0, true)); COMMIT");
like($err, qr/ERROR:  22000: no fingerprint for keeper, set here\n.*DETAIL:  the detail\n.*HINT:  the hint/s,
	"a worker's error is the statement's, and the worker ran as the owner, with the session's settings");
is(scalar_of($node, 'SELECT to_regclass($$wide_idx$$) IS NULL'), 't', 'the index is not there');
no_workers_are_left('an error in a worker');

# Cancelled from outside while workers are at work, and while they wait for the backend to take their rows.
my %busy = (
	'at work' => [ 'wide', '0.05, 0.05', 'true' ],
	'with rows that nobody takes' => [ 'many', '600, 0', "wait_event = 'MessageQueueSend'" ]);
$node->safe_psql('postgres', "CREATE TABLE many AS SELECT i::bigint AS id, test.random_fp(i) AS fp FROM generate_series(1, 60000) i; ANALYZE many");
foreach my $busy (sort keys %busy)
{
	my ($table, $sleeps, $state) = @{ $busy{$busy} };
	my $workers = "FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND $state";
	foreach my $way ('the backend is cancelled', 'the backend is terminated', 'a worker is terminated', 'a worker is cancelled', 'the backend is cancelled in a part of a transaction')
	{
		my $name = "workers $busy, $way";
		my $session = session($node);
		my $build = "CREATE INDEX busy_idx ON $table USING banding (test.paced(fp, $sleeps, false))";
		my $part = $way =~ /part/;
		$build = "BEGIN; DO \$\$BEGIN $build; EXCEPTION WHEN query_canceled THEN
			CREATE TABLE after_it AS SELECT 1; DROP TABLE after_it; END\$\$; COMMIT" if $part;
		${ $session->{in} } .= "$leader $build;\nSELECT 'went on';\n";
		IPC::Run::pump_nb($session->{run});
		ok(wait_until($node, "SELECT count(*) = 2 $workers"), "$name: two workers");
		is(scalar_of($node, "SELECT phase, blocks_total > 0 FROM pg_stat_progress_create_index WHERE relid = '$table'::regclass"),
			'building index: scanning table|t', "$name: progress is shown");
		like(scalar_of($node, "SELECT min(query) $workers"), qr/CREATE INDEX busy_idx/, "$name: workers show the statement");
		my $verb = $way =~ /cancelled/ ? 'cancel' : 'terminate';
		$node->safe_psql('postgres', "SELECT pg_${verb}_backend(" . ($way =~ /^a worker/ ? "pid) $workers LIMIT 1" : "$session->{pid})"));
		no_workers_are_left($name);
		my $said = finish_session($session);
		my $error = $verb eq 'cancel' ? qr/ERROR:  canceling statement due to user request/ : qr/ERROR:  terminating .*due to administrator command/;
		if ($part) { unlike($said, qr/ERROR/, "$name: the transaction goes on"); }
		elsif ($way ne 'the backend is terminated') { like($said, $error, "$name: said so"); }
		like($said, qr/went on/, "$name: the session goes on") if $way ne 'the backend is terminated';
		is($node->safe_psql('postgres', "SET lock_timeout = '5s'; UPDATE $table SET fp = fp WHERE id = 1; SELECT to_regclass('busy_idx') IS NULL"), 't', "$name: nothing is left");
	}
}

# Rows that come, change and go while an index is built beside them.
$node->safe_psql('postgres', 'CREATE TABLE c AS SELECT id, fp, note FROM t WHERE id > 0; CREATE INDEX ON c (id); ALTER TABLE c SET (fillfactor = 70); VACUUM FULL c; ANALYZE c');
my $script = PostgreSQL::Test::Utils::tempdir . '/load.sql';
append_to_file($script, "\\set id random(1, $n)\nINSERT INTO c SELECT :id + $n, test.fp('hot', :id);\nUPDATE c SET fp = test.flip(fp, 3, :id) WHERE id = :id;
UPDATE c SET note = note + 1 WHERE id = :id + 1;\nDELETE FROM c WHERE id = :id + 2;\n");
my ($load_out, $load_err) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-T', 600, '-f', $script, $node->connstr('postgres') ], '>', \$load_out, '2>', \$load_err);
wait_until($node, "SELECT count(*) > 20 FROM c WHERE id > $n");
foreach my $statement ('CREATE INDEX CONCURRENTLY c_idx ON c USING banding ((fp + 1))', 'REINDEX INDEX CONCURRENTLY c_idx', 'REINDEX INDEX c_idx')
{
	is(workers_of($statement)->[0][0], '2', "$statement: on workers");
	check_is_clean($node, 'c_idx', "$statement, under load still");
}
IPC::Run::signal($load, 'INT');
eval { IPC::Run::finish($load) };
unlike($load_err, qr/ERROR|aborted|FATAL/, 'no client failed');
wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'");
is_sound($node, 'c', 'c_idx', 'built beside writers', fp => "'fp + 1'", queries => 4);

log_is_clean($node, 'build_workers');
$node->stop;
done_testing();
