# Protects what carries a database elsewhere or back: base backup, recovery to a moment inside an index build, prepared
# transactions over a crash and a promotion, pg_rewind, logical replication. Afterwards every index is sound, answers are
# those of brute force, and the guard still guards.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $n = rows(4_000);
my %few = (queries => 2, radii => "'{0,1,3,6,10,20}'", k => "'{1,10,33}'");
my $primary = new_node('primary', standby => 'logical',
	conf => "wal_consistency_checking = 'Generic'\nwal_log_hints = on\nmax_prepared_transactions = 10\nwal_keep_size = 1GB\n");
$primary->enable_archiving;
$primary->restart;
$primary->safe_psql('postgres', "CREATE TABLE t (id bigint PRIMARY KEY, fp bigint); INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i;
	CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0);
	CREATE TABLE g (id bigint PRIMARY KEY, fp bigint); CREATE INDEX g_idx ON g USING banding (fp);
	CREATE TRIGGER g_guard AFTER INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
	CREATE TABLE s (id bigint PRIMARY KEY, fp bigint); CREATE INDEX s_idx ON s USING banding (fp);
	CREATE TRIGGER s_guard BEFORE INSERT OR UPDATE ON s FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=skip');
	INSERT INTO g SELECT i, test.random_fp(i) FROM generate_series(1, 300) i; INSERT INTO s TABLE g");

# A backup while the index is written to.
my $load = session($primary);
${ $load->{in} } .= "DO \$\$ BEGIN FOR i IN 1 .. 1000000 LOOP INSERT INTO t VALUES (1000000 + i, test.fp('hot', i)); DELETE FROM t WHERE id = 1000000 + i - 50;
	COMMIT; END LOOP; END \$\$;\n";
IPC::Run::pump_nb($load->{run});
wait_until($primary, 'SELECT count(*) > 40 FROM t WHERE id > 1000000');
$primary->backup('base');
$primary->safe_psql('postgres', "SELECT pg_cancel_backend($load->{pid})");
finish_session($load);
is_sound($primary, 't', 't_idx', 'primary', %few);

sub from_backup
{
	my ($name, %o) = @_;
	my $conf = delete $o{conf} // '';
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'base', %o);
	# Only one archives, and none but it into its directory.
	$node->append_conf('postgresql.conf', "archive_mode = off\n$conf");
	$node->start;
	return $node;
}
my $copy = from_backup('copy');
is_sound($copy, 't', 't_idx', 'base backup', %few);
log_is_clean($copy, 'base backup');
$copy->stop('immediate');

# Recovery to the middle of what a build writes, of the three kinds of build.
my %middle;
foreach my $build (
	[ 'create', 'CREATE INDEX built ON t USING banding (fp) WITH (mu = 0)' ],
	[ 'concurrently', 'CREATE INDEX CONCURRENTLY slowly ON t USING banding (fp) WITH (mu = 0)' ],
	[ 'reindex', 'REINDEX INDEX t_idx' ])
{
	my ($name, $sql) = @$build;
	my $insert_lsn = 'SELECT pg_current_wal_insert_lsn()';
	my $from = $primary->safe_psql('postgres', $insert_lsn);
	$primary->safe_psql('postgres', $sql);
	my $to = $primary->safe_psql('postgres', $insert_lsn);
	cmp_ok($primary->safe_psql('postgres', "SELECT pg_wal_lsn_diff('$to', '$from')"), '>', 100_000, "$name: the build is logged");
	$middle{$name} = $primary->safe_psql('postgres', "SELECT '$from'::pg_lsn + pg_wal_lsn_diff('$to', '$from') / 2");
	# Beyond which recovery must not go.
	$primary->safe_psql('postgres', "INSERT INTO t VALUES (" . (2_000_000 + keys %middle) . ', 1)');
}
my $file = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
ok(wait_until($primary, "SELECT last_archived_wal >= '$file' FROM pg_stat_archiver", 120), 'the log is archived');
foreach my $name (sort keys %middle)
{
	my $node = from_backup("middle_$name", has_restoring => 1, standby => 0,
		conf => "recovery_target_lsn = '$middle{$name}'\nrecovery_target_action = promote\n");
	ok(wait_until($node, 'SELECT NOT pg_is_in_recovery()', 120), "$name: recovered to the middle of the build");
	my %later = (create => 0, concurrently => 1, reindex => 2);
	is(scalar_of($node, 'SELECT count(*) FROM t WHERE id > 2000000'), $later{$name}, "$name: and no further");
	is(scalar_of($node, "SELECT string_agg(relname || indisvalid, ' ' ORDER BY relname) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = 't'::regclass AND relname <> 't_pkey'"),
		{ create => 't_idxtrue', concurrently => 'builttrue slowlyfalse t_idxtrue', reindex => 'builttrue slowlytrue t_idxtrue' }->{$name}, "$name: what was not finished is not there, or not valid");
	is_sound($node, 't', 't_idx', "$name, as recovered", %few);
	# What was under way is done again, beside writes.
	$node->safe_psql('postgres', "INSERT INTO t SELECT 3000000 + i, test.fp('hot', i) FROM generate_series(1, 500) i");
	$node->safe_psql('postgres', { create => 'CREATE INDEX built ON t USING banding (fp)', concurrently => 'REINDEX INDEX CONCURRENTLY slowly', reindex => 'REINDEX INDEX t_idx' }->{$name});
	check_is_clean($node, $_, "$name, done again") foreach $name eq 'create' ? ('built') : $name eq 'concurrently' ? ('slowly') : ();
	is_sound($node, 't', 't_idx', "$name, and on", %few);
	log_is_clean($node, $name);
	$node->stop('immediate');
}
$primary->safe_psql('postgres', 'DROP INDEX built, slowly');

# Transactions that are prepared outlive a crash and a promotion, and what they have stored is guarded against.
my $standby = from_backup('standby', has_streaming => 1);
sub caught_up { my ($from, $to) = @_; return $from->wait_for_catchup($to, 'replay', $from->lsn('flush')); }
my $other = 'test.random_fp(-7)';
$primary->safe_psql('postgres', "BEGIN; INSERT INTO t SELECT 4000000 + i, test.fp('hot', i) FROM generate_series(1, 1000) i; DELETE FROM t WHERE id % 10 = 1 AND id < 1000000;
		PREPARE TRANSACTION 'rows';
	BEGIN; CREATE TABLE made AS SELECT * FROM t WHERE id % 2 = 0; CREATE INDEX made_idx ON made USING banding (fp); PREPARE TRANSACTION 'build';
	BEGIN; INSERT INTO t SELECT 5000000 + i, test.fp('hot', i) FROM generate_series(1, 1000) i; PREPARE TRANSACTION 'never';
	BEGIN; INSERT INTO g VALUES (1001, $other); PREPARE TRANSACTION 'guarded';
	BEGIN; INSERT INTO s VALUES (1001, $other); PREPARE TRANSACTION 'skipping'");
is_sound($primary, 't', 't_idx', 'prepared', %few);
$primary->stop('immediate');
$primary->start;
is_sound($primary, 't', 't_idx', 'prepared, after a crash', %few);

# A near row waits for a prepared transaction, through the crash.
my $near = "test.flip($other, 2, 1)";
my @waiting = map { session($primary) } 'g', 's';
${ $waiting[0]{in} } .= "INSERT INTO g VALUES (1002, $near);\n";
${ $waiting[1]{in} } .= "INSERT INTO s VALUES (1002, $near);\n";
IPC::Run::pump_nb($_->{run}) foreach @waiting;
foreach my $session (@waiting)
{
	ok(wait_until($primary, "SELECT count(*) > 0 FROM pg_locks WHERE pid = $session->{pid} AND NOT granted"), 'a near row waits for a prepared transaction');
}
$primary->safe_psql('postgres', "COMMIT PREPARED 'guarded'; COMMIT PREPARED 'skipping'");
like(finish_session($waiting[0]), qr/ERROR.*near/, 'and is rejected when that is committed');
is(finish_session($waiting[1]), '', 'or left out');
is(scalar_of($primary, 'SELECT (SELECT count(*) FROM g WHERE id > 1000), (SELECT count(*) FROM s WHERE id > 1000)'), '1|1', 'the prepared rows are there, the near ones are not');
is(scalar_of($primary, "SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'"), '0', 'no lock of the guard is left');
caught_up($primary, $standby);

$standby->promote;
ok(wait_until($standby, 'SELECT NOT pg_is_in_recovery()', 120), 'promoted');
# pg_rewind reads of the new timeline in the control file.
$standby->safe_psql('postgres', 'CHECKPOINT');
is(scalar_of($standby, "SELECT string_agg(gid, ' ' ORDER BY gid) FROM pg_prepared_xacts"), 'build never rows', 'prepared transactions are there after a promotion');
$standby->safe_psql('postgres', $_) foreach "COMMIT PREPARED 'rows'", "COMMIT PREPARED 'build'", "ROLLBACK PREPARED 'never'";
is_sound($standby, 't', 't_idx', 'promoted, prepared transactions ended', %few);
is_sound($standby, 'made', 'made_idx', 'an index of a prepared transaction', %few);
$standby->safe_psql('postgres', "VACUUM t; INSERT INTO t SELECT 6000000 + i, test.fp('hot', i) FROM generate_series(1, 1000) i");
is_sound($standby, 't', 't_idx', 'promoted, vacuumed', %few);

# The old primary goes another way, is rewound and follows.
$primary->safe_psql('postgres', $_) foreach "COMMIT PREPARED 'never'", "ROLLBACK PREPARED 'rows'", "ROLLBACK PREPARED 'build'",
	"INSERT INTO t SELECT 7000000 + i, test.fp('skewed', i) FROM generate_series(1, 2000) i; DELETE FROM t WHERE id % 7 = 0; INSERT INTO g VALUES (2001, 0)",
	'VACUUM t', 'CREATE INDEX gone ON t USING banding (fp)', 'REINDEX INDEX t_idx';
is_sound($primary, 't', 't_idx', 'the old primary, on its own way', %few);
$primary->stop;
my $conf = $primary->data_dir . '/postgresql.conf';
my $kept = slurp_file($conf);
command_ok([ 'pg_rewind', '--source-server', $standby->connstr('postgres'), '--target-pgdata', $primary->data_dir, '--no-sync' ], 'pg_rewind');
unlink $conf;
append_to_file($conf, $kept);
$primary->append_conf('postgresql.conf', "archive_mode = off\n");
$primary->enable_streaming($standby);
$primary->start;
$standby->safe_psql('postgres', "INSERT INTO t SELECT 8000000 + i, test.fp('hot', i) FROM generate_series(1, 500) i");
caught_up($standby, $primary);
is(scalar_of($primary, 'SELECT count(*) FROM t WHERE id / 1000000 = 7'), '0', 'rewound: what was never replicated is gone');
foreach my $table ('t', 'made', 'g')
{
	is_sound($primary, $table, "${table}_idx", 'rewound', %few);
	is(scalar_of($primary, "SELECT count(*), sum(id), bit_xor(fp) FROM $table"), scalar_of($standby, "SELECT count(*), sum(id), bit_xor(fp) FROM $table"), "rewound: $table is the new primary's");
}
$primary->promote;
$primary->safe_psql('postgres', "INSERT INTO t SELECT 9000000 + i, test.fp('hot', i) FROM generate_series(1, 500) i; DELETE FROM t WHERE id % 3 = 0; VACUUM t");
is_sound($primary, 't', 't_idx', 'rewound, promoted and written to', %few);
log_is_clean($_, 'rewound') foreach $primary, $standby;
$primary->stop('immediate');

# Logical replication: the subscriber has an index and guards of its own, which fire if they are told to ALWAYS.
my $publisher = $standby;
my $subscriber = new_node('subscriber');
$subscriber->safe_psql('postgres', "CREATE TABLE t (id bigint PRIMARY KEY, fp bigint); CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0);
	CREATE TABLE free (id bigint PRIMARY KEY, fp bigint); CREATE INDEX free_idx ON free USING banding (fp);
	CREATE TRIGGER guard AFTER INSERT OR UPDATE ON free FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
	CREATE TABLE clean (id bigint PRIMARY KEY, fp bigint); CREATE INDEX clean_idx ON clean USING banding (fp);
	CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON clean FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=skip');
	ALTER TABLE clean ENABLE ALWAYS TRIGGER guard");
$publisher->safe_psql('postgres', "CREATE TABLE free AS SELECT i::bigint AS id, test.fp('uniform', i) AS fp FROM generate_series(1, 400) i; ALTER TABLE free ADD PRIMARY KEY (id);
	CREATE TABLE clean AS TABLE free; ALTER TABLE clean ADD PRIMARY KEY (id); CREATE PUBLICATION p FOR TABLE t, free, clean");
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION p");
ok($subscriber->poll_query_until('postgres', "SELECT count(*) = 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel"), 'the tables are copied');
$publisher->safe_psql('postgres', $_) foreach
	"INSERT INTO t SELECT 10000000 + i, test.fp('hot', i) FROM generate_series(1, 2000) i",
	'UPDATE t SET fp = test.flip(fp, 3, id) WHERE id % 20 = 7', 'DELETE FROM t WHERE id % 9 = 0',
	map { "INSERT INTO $_ SELECT 1000 + i, test.fp('uniform', i + 200) FROM generate_series(1, 400) i" } 'free', 'clean';
$publisher->wait_for_catchup('sub', 'replay', $publisher->lsn('flush'));
is(scalar_of($subscriber, "SELECT count(*), sum(id), bit_xor(fp) FROM $_"), scalar_of($publisher, "SELECT count(*), sum(id), bit_xor(fp) FROM $_"), "logical replication: $_ is the publisher's") foreach 't', 'free';
is_sound($subscriber, $_, "${_}_idx", 'logical replication', %few) foreach 't', 'free', 'clean';
is(scalar_of($subscriber, 'SELECT count(*) FROM clean a JOIN clean b ON a.id < b.id AND hamming(a.fp, b.fp) <= 6'), '0', 'a guard that is enabled ALWAYS keeps near rows of the publisher out');
is(scalar_of($subscriber, 'SELECT count(*) FROM free WHERE NOT EXISTS (SELECT FROM clean WHERE hamming(clean.fp, free.fp) <= 6)'), '0', 'and only those');
log_is_clean($subscriber, 'logical replication');
$_->stop('immediate') foreach $subscriber, $publisher;
done_testing();
