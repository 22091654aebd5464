# Protects whoever runs out of disk, or loses a process: a statement that fails half way, for want of room, by
# temp_file_limit, by a signal at a random moment or by kill -9, leaves a sound index, no file and no lock, and succeeds
# when it is repeated.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rounds = $ENV{DEDUP_TEST_ROUNDS} // 9;
my $n = rows(30_000);
my %few = (queries => 2, radii => "'{0,1,3,6,10,20}'", k => "'{1,10,33}'");
test_seed();

# Small segments of the log, for files are limited below to little more than one of them.
my $node = PostgreSQL::Test::Cluster->new('disturbed');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C', '--wal-segsize', '1' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nshared_buffers = 64MB\ncheckpoint_timeout = 1h\nrestart_after_crash = on
max_parallel_workers_per_gather = 0\nmax_parallel_maintenance_workers = 0\njit = off\n");
$node->start;
set_up($node);
$node->safe_psql('postgres', "CREATE TABLE t (id bigint, fp bigint); INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i;
	CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0); ANALYZE t;
	CREATE TABLE letter AS SELECT i AS id, (SELECT string_agg(chr(19968 + (hashint4(p + 1000 * (i % 700)) & 4095)), '' ORDER BY p) FROM generate_series(1, 40) p) AS body
		FROM generate_series(1, 3000) i;
	CREATE TABLE g (id bigserial, fp bigint); CREATE INDEX g_idx ON g USING banding (fp);
	CREATE TRIGGER g_guard BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=skip'); CHECKPOINT");

# No disk: no file may grow beyond so many bytes, for backends that start from now on.
sub room
{
	my ($bytes) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	system_or_bail('prlimit', '--pid', $postmaster, '--fsize=' . ($bytes // '') . ($bytes ? ':' : 'unlimited:'));
	return;
}
sub says
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('postgres', $sql, on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $stderr;
}
sub nothing_left
{
	my ($name) = @_;
	is(scalar_of($node, 'SELECT count(*) FROM pg_ls_tmpdir()'), '0', "$name: no temporary file is left");
	is(scalar_of($node, "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND (locktype IN ('userlock', 'advisory') OR relation >= 16384)"), '0', "$name: no lock is left");
	return;
}

my $full = qr/ERROR:  \w+: could not (extend|write).*File too large/;
SKIP:
{
	skip 'no prlimit', 1 unless grep { -x "$_/prlimit" } split /:/, $ENV{PATH};
	my $index_size = scalar_of($node, "SELECT pg_relation_size('t_idx')");
	room(147 * 8192);
	cmp_ok($index_size, '>', 147 * 8192, 'an index does not fit');
	like(says('REINDEX INDEX t_idx'), $full, 'disk full: REINDEX');
	like(says('CREATE INDEX another ON t USING banding (fp)'), $full, 'disk full: CREATE INDEX');
	# A failed one stays, invalid; it fails again, and again.
	like(says('CREATE INDEX CONCURRENTLY slowly ON t USING banding (fp)'), $full, 'disk full: CREATE INDEX CONCURRENTLY');
	like(says('REINDEX INDEX CONCURRENTLY slowly'), $full, 'disk full: and repeated') foreach 1 .. 2;
	is(scalar_of($node, "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND NOT indisvalid"), '3', 'disk full: what failed is not valid');
	room($index_size);
	like(says("INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series($n, 20 * $n) i"), $full, 'disk full: INSERT');
	like(says("DELETE FROM t WHERE id % 5 = 0; VACUUM t"), qr/^$|$full/, 'disk full: VACUUM ends, or says so');
	is_sound($node, 't', 't_idx', 'disk full', %few);
	room();
	is_sound($node, 't', 't_idx', 'room again', %few);
	# Writes keep the invalid ones; then they are made at last.
	is(says("INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, 1000) i; VACUUM t; DELETE FROM t WHERE id % 7 = 0; VACUUM t"), '', 'room again: writes');
	is(says('DROP INDEX slowly_ccnew; DROP INDEX slowly_ccnew1'), '', 'what failed is dropped');
	is(says("$_ INDEX CONCURRENTLY slowly" . (/CREATE/ ? ' ON t USING banding (fp)' : '')), '', "$_ CONCURRENTLY succeeds") foreach 'REINDEX', 'DROP', 'CREATE';
	is_sound($node, 't', $_, 'room again', %few) foreach 'slowly', 't_idx';
	is(says('DROP INDEX slowly; REINDEX INDEX t_idx'), '', 'and all of it again');
	nothing_left('disk full');
}

# temp_file_limit. Of a table that does not fit in memory.
$node->safe_psql('postgres', "CREATE TABLE big AS SELECT i::bigint AS id, test.fp('uniform', i) AS fp FROM generate_series(1, 3 * $n) i;
	TRUNCATE t; INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, $n / 6) i");
my $limit = "SET temp_file_limit = '100kB'; SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'";
my $exceeded = qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit/;
my %spill = (
	'CREATE INDEX' => 'CREATE INDEX one ON big USING banding (fp)',
	'CREATE INDEX CONCURRENTLY' => 'CREATE INDEX CONCURRENTLY two ON big USING banding (fp)',
	'near_dup_pairs' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM big WHERE id <= 20000', '{"distance": 2}')},
	'near_dup_pairs by text' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, body FROM letter', '{"method": "text", "similarity": 0.5}')},
	'dedup' => q{SELECT count(*) FROM dedup('SELECT id, body FROM letter')},
	'dedup_into' => q{CALL dedup_into('result', 'SELECT id, body FROM letter')});
foreach my $name (sort keys %spill)
{
	my $session = session($node, '-v', 'VERBOSITY=verbose');
	${ $session->{in} } .= join(";\n", split(/; /, $limit), $spill{$name}, "SELECT 'left ' || count(*) FROM pg_ls_tmpdir()") . ";\n";
	my $said = finish_session($session);
	like($said, $name =~ /CREATE|pairs/ ? $exceeded : qr/^(?!.*ERROR)|$exceeded/s, "temp_file_limit: $name");
	like($said, qr/left 0$/m, "temp_file_limit: $name leaves no file");
	is(says("SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'; SET client_min_messages = error; DROP INDEX IF EXISTS two; DROP TABLE IF EXISTS result, result_merges, result_state; $spill{$name}"), '', "temp_file_limit: $name succeeds without");
}
is(says("SELECT banding_check('one')"), '', 'temp_file_limit: the index is sound');
$node->safe_psql('postgres', 'DROP TABLE big; DROP TABLE IF EXISTS result, result_merges, result_state');
nothing_left('temp_file_limit');

# Signals at random moments.
my @work = (
	"INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, 2000) i;\n" x 20,
	"UPDATE t SET fp = test.flip(fp, 3, id) WHERE id % 10 = 3;\n" x 20,
	"DELETE FROM t WHERE hashint8(id) % 50 = %d;\nVACUUM t;\nINSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, 300) i;\n" x 20,
	"REINDEX INDEX t_idx;\n" x 20,
	"REINDEX INDEX CONCURRENTLY t_idx;\n" x 20,
	"CREATE INDEX CONCURRENTLY another ON t USING banding (fp);\nDROP INDEX CONCURRENTLY another;\n" x 20,
	"INSERT INTO g (fp) SELECT test.fp('uniform', i) FROM generate_series(1, 5000) i;\n" x 20,
	"SET work_mem = '64kB';\n" . "SELECT count(*) FROM near_dup_pairs('SELECT row_number() OVER (), fp FROM t', '{\"distance\": 3}');\n" x 20,
	"CALL dedup_into('result', 'SELECT id, body FROM letter');\nDROP TABLE result, result_merges, result_state;\n" x 20);
my $log = -s $node->logfile;
# What a psql that has ended by an error is still to be given goes nowhere.
sub pump_for
{
	my ($session, $seconds) = @_;
	my $until = time + $seconds;
	while (time < $until && $session->{run}->pumpable)
	{
		eval { IPC::Run::pump_nb($session->{run}); 1 } or $@ =~ /Broken pipe/ ? last : die $@;
		usleep(2_000);
	}
}
sub disturb
{
	my ($work, $milliseconds, $how) = @_;
	my $session = session($node, '-v', 'ON_ERROR_STOP=1');
	${ $session->{in} } .= "SET client_min_messages = error;\n" . $work =~ s/%d/int rand 50/gre . "\\q\n";
	pump_for($session, $milliseconds / 1000);
	$how->($session->{pid});
	pump_for($session, 180);
	return finish_session($session);
}
sub after_signal
{
	my ($name) = @_;
	ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"), "$name: the session is gone");
	check_is_clean($node, 't_idx', $name);
	check_is_clean($node, 'g_idx', $name);
	nothing_left($name);
	is(says(q{SET client_min_messages = error; DO $$ DECLARE failed text; BEGIN
			FOR failed IN SELECT c.oid::regclass FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid AND c.relnamespace = 'public'::regnamespace LOOP
				EXECUTE 'DROP INDEX ' || failed; END LOOP; END $$;
		DROP INDEX IF EXISTS another; DROP TABLE IF EXISTS result, result_merges, result_state}), '', "$name: what failed is dropped");
	return;
}
foreach my $round (1 .. $rounds)
{
	my $work = $work[ ($round - 1) % @work ];
	my $milliseconds = int rand 250;
	my $function = $round % 3 ? 'pg_cancel_backend' : 'pg_terminate_backend';
	my $name = "round $round, $function after $milliseconds ms of " . substr($work, 0, 20) =~ s/\s/ /gr;
	my $said = disturb($work, $milliseconds, sub { $node->safe_psql('postgres', "SELECT $function($_[0])") });
	# Between two statements there is nothing to cancel, and the work ends by itself.
	like($said, qr/^[\d\s]*(psql:\S* (ERROR:  canceling statement due to user request|FATAL:  terminating connection)|\z)/, $name);
	after_signal($name);
}
is_sound($node, 't', 't_idx', 'after all signals', %few);
log_is_clean($node, 'signals', $log);

# A process that dies takes all others with it; the server starts again by itself.
foreach my $round (1 .. int(($rounds + 3) / 6))
{
	my $work = $work[ (3 * $round) % @work ];
	my $milliseconds = 50 + int rand 250;
	my $name = "kill $round, after $milliseconds ms of " . substr($work, 0, 20) =~ s/\s/ /gr;
	$log = -s $node->logfile;
	my $writer = session($node);
	${ $writer->{in} } .= $work[0];
	IPC::Run::pump_nb($writer->{run});
	disturb($work, $milliseconds, sub { kill 'KILL', $_[0] });
	eval { IPC::Run::kill_kill($writer->{run}, grace => 2) };
	ok($node->poll_query_until('postgres', "SELECT true"), "$name: the server is back");
	after_signal($name);
	is_sound($node, 't', 't_idx', $name, %few);
	unlike(slurp_file($node->logfile, $log), qr/PANIC|TRAP:|panicked|terminated by signal (?!9)/, "$name: nothing else has died");
}
is(scalar_of($node, 'SELECT count(*) FROM g a JOIN g b ON a.id < b.id AND hamming(a.fp, b.fp) <= 6'), '0', 'no row has passed the guard');
$node->safe_psql('postgres', 'VACUUM t; REINDEX TABLE t');
is_sound($node, 't', 't_idx', 'in the end', %few);
$node->stop;
done_testing();
