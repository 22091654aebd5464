# dedup_into on whole servers: cancelled and killed in the middle and called
# again it ends where dedup does; two sessions at once; dump and restore, and on.
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

test_seed();
my $node = new_node('into', conf => "restart_after_crash = on\n");
my $n = rows(12_000);
my $query = 'SELECT id, body FROM letter ORDER BY id';
my $options = '{"batch": 400, "distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}';

# Families of texts, copies among them, rows without content.
sub fill_letters
{
	my ($from, $to) = @_;
	$node->safe_psql('postgres', qq{
		INSERT INTO letter SELECT i, CASE WHEN i % 97 > 0 THEN (
			SELECT string_agg(chr(19968 + (hashint4(p + 1000 * (i % 3000)) & 4095)
				+ CASE WHEN (hashint4(p * 31 + i % 2000) & 31) < i % 4 THEN 1000 ELSE 0 END), '' ORDER BY p)
			FROM generate_series(1, 50) p) END
		FROM generate_series($from, $to) i});
	return;
}

sub call
{
	my ($result) = @_;
	return "CALL dedup_into('$result', '$query', '$options')";
}

# Rows that are not as dedup has them, taken in the order in which they arrived,
# and rows that are missing.
sub is_right
{
	my ($database, $result, $name) = @_;
	my $arrived = "SELECT q.* FROM ($query) q JOIN $result r USING (id) ORDER BY r.arrival";
	return is($node->safe_psql($database, qq{
			SELECT count(*) FROM (SELECT * FROM dedup('$arrived', '{"distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}')
				EXCEPT ALL SELECT id, keeper, stage, distance, similarity FROM $result) d;
			SELECT count(*) FROM (SELECT FROM $result GROUP BY cluster
				HAVING min(arrival) <> cluster OR count(DISTINCT keeper) > 1) c;
			SELECT banding_check(indexrelid, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
				JOIN pg_am a ON a.oid = c.relam AND amname = 'banding' WHERE indrelid = '$result'::regclass}) =~ s/\s+$//r,
		"0\n0", "$name: as dedup has it");
}

sub is_complete
{
	my ($database, $result, $name) = @_;
	is($node->safe_psql($database, "SELECT (SELECT count(*) FROM letter) - (SELECT count(*) FROM $result)"),
		'0', "$name: every row is there");
	return is_right($database, $result, $name);
}

# Waits until a call has committed some rows more.
sub wait_for_rows
{
	my ($result, $rows) = @_;
	return wait_until($node, "SELECT has_rows('$result', $rows)", 120);
}

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION has_rows(result text, rows bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    IF to_regclass(result) IS NULL THEN RETURN false; END IF;
    EXECUTE format('SELECT count(*) FROM %s', result) INTO n;
    RETURN n >= rows;
END $$;
SQL
$node->safe_psql('postgres', 'CREATE TABLE letter (id integer PRIMARY KEY, body text)');
fill_letters(1, $n);

# Stopped in the middle, again and again, each time further on.
foreach my $way ('cancel', 'terminate', 'kill')
{
	my $result = "by_$way";
	my $done = 0;
	foreach my $time (1 .. 3)
	{
		my $session = session($node);
		${ $session->{in} } .= call($result) . ";\n";
		IPC::Run::pump_nb($session->{run});
		ok(wait_for_rows($result, $done + 800), "$way $time: it has come some way");
		usleep(int rand 50_000);
		if ($way eq 'kill')
		{
			# The postmaster restarts everything.
			kill 'KILL', $session->{pid};
			eval { IPC::Run::kill_kill($session->{run}, grace => 2) };
			ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid})"),
				"$way $time: the server is back");
		}
		else
		{
			my $function = $way eq 'cancel' ? 'pg_cancel_backend' : 'pg_terminate_backend';
			$node->safe_psql('postgres', "SELECT $function($session->{pid})");
			ok(wait_until($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid} AND state = 'active')", 30),
				"$way $time: it returns");
			# Nothing is left in a session that goes on: no lock, no cursor.
			is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND locktype IN ('relation', 'advisory')"),
				'0', "$way $time: nothing is locked");
			if ($way eq 'cancel')
			{
				${ $session->{in} } .= "SELECT 'cursors ' || count(*) FROM pg_cursors;\n";
				like(finish_session($session), qr/cursors 1\b|cursors 0\b/, "$way $time: no cursor is left");
			}
			eval { IPC::Run::kill_kill($session->{run}, grace => 2) };
		}
		my $now = $node->safe_psql('postgres', "SELECT count(*) FROM $result");
		is($now % 400, 0, "$way $time: whole batches");
		cmp_ok($now, '>', $done, "$way $time: further on");
		$done = $now;
		is_right('postgres', $result, "$way $time");
		last if $done >= $n - 1000;
	}
	$node->safe_psql('postgres', call($result));
	is_complete('postgres', $result, "after $way");
}

# From here on nothing is killed that the log would tell of.
my $log = -s $node->logfile;

# Two sessions at once begin with nothing: none fails, no row is lost or there
# twice.
my @sessions = map { session($node) } 1 .. 2;
foreach my $session (@sessions)
{
	${ $session->{in} } .= call('together') . "; SELECT 'through';\n";
	IPC::Run::pump_nb($session->{run});
}
foreach my $session (@sessions)
{
	my $said = finish_session($session);
	like($said, qr/through/, 'two sessions: one ends');
	unlike($said, qr/ERROR/, 'two sessions: without an error');
}
is_complete('postgres', 'together', 'two sessions');

# What a call says.
my (undef, undef, $said) = $node->psql('postgres', "SET pg_dedup.progress = '1ms'; CALL dedup_into('said', '$query', '{\"batch\": 6000, \"n\": 2}')");
like($said, qr/dedup_into: 6000 of $n rows, \d+ %, \d+ a second, \d+ s left/, 'how far it is');
like($said, qr/dedup_into: reading a batch: \d+ rows, \d+ a second/, 'before the first batch ends too');
like($said, qr/dedup_into: making fingerprints of a batch: \d+ % done, \d+ s left/, 'what is being done');
like($said, qr/dedup_into: finding near fingerprints in a batch: /, 'and what after that');
like($said, qr/dedup_into: $n new rows: \d+ kept, \d+ exact and \d+ near duplicates, \d+ empty; \d+ clusters merged/, 'a summary');

# The summary counts what the rows are when the call ends.
(undef, undef, $said) = $node->psql('postgres', q{SET pg_dedup.progress = '1ms'; CALL dedup_into('last', $$VALUES (1, 'water'), (2, 'water'), (3, NULL), (4, 'water')$$, '{"batch": 1, "keep": "last", "group": "components", "n": 2}')});
like($said, qr/dedup_into: 4 new rows: 1 kept, 2 exact and 0 near duplicates, 1 empty; 0 clusters merged/, 'a row that is kept no longer is not counted as kept');

# An ordinary user's result is dumped and restored, and goes on in its new place.
$node->safe_psql('postgres', qq{CREATE ROLE clerk LOGIN; GRANT CREATE ON SCHEMA public TO clerk; GRANT SELECT ON letter TO clerk});
my $clerk = $node->connstr('postgres') . ' user=clerk';
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $clerk, '-c', call('own') ], 'an ordinary user calls it');
fill_letters($n + 1, $n + 700);
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $clerk, '-c', call('own') ], 'and again');
is_complete('postgres', 'own', 'a table of an ordinary user');
my $dump = $node->basedir . '/into.dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'restore');
my $names = 'SELECT id, cluster, keeper, stage, distance, similarity, arrival FROM own ORDER BY id; SELECT * FROM own_merges ORDER BY merge';
is($node->safe_psql('restored', $names), $node->safe_psql('postgres', $names), 'restored as it was');
$node->safe_psql('restored', "INSERT INTO letter SELECT id + 100000, CASE WHEN id % 3 = 0 THEN body ELSE body || '。' END FROM letter WHERE id % 20 = 0");
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored') . ' user=clerk', '-c', call('own') ], 'it goes on after a restore');
is_complete('restored', 'own', 'after a restore');
is($node->safe_psql('restored', "SELECT count(*) FROM own WHERE cluster IN (SELECT absorbed FROM own_merges)"), '0', 'no row is left in a cluster that ended');

# A server that crashed, not only a process.
fill_letters($n + 701, $n + 3000);
my $session = session($node);
${ $session->{in} } .= "SET ROLE clerk;\n" . call('own') . ";\n";
IPC::Run::pump_nb($session->{run});
ok(wait_for_rows('own', $n + 1500), 'crash: it has come some way');
$node->stop('immediate');
eval { IPC::Run::kill_kill($session->{run}, grace => 2) };
$node->start;
is_right('postgres', 'own', 'after a crash');
$node->safe_psql('postgres', "SET ROLE clerk;\n" . call('own'));
is_complete('postgres', 'own', 'after a crash, and on');
log_is_clean($node, 'dedup_into', $log);
$node->stop;
done_testing();
