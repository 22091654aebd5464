# dedup_into on whole servers: cancelled, killed and in a server that dies it leaves the result as it was, and the next call
# loses nothing; two sessions at once; dump and restore, and on. Once by comparing and once by following.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

test_seed();
my $node = new_node('into', conf => "restart_after_crash = on\n");
my $n = rows(8_000);
my $plain = '"distance": 12, "recipe": {}, "similarity": 0.5, "n": 2, "details": []';
my %call = (
	compared => "CALL dedup_into('compared', 'SELECT id, slowly(id, body) AS body FROM letter ORDER BY id', '{$plain}')",
	followed => "CALL dedup_into('followed', 'letter', '{$plain, \"columns\": \"body\", \"follow\": true}')");
# Many rows change, so that all groups are formed anew, or few.
my %change = (
	many => 'UPDATE letter SET body = reverse(body) WHERE id % 5 = 0',
	few => "DELETE FROM letter WHERE id IN (SELECT keeper FROM followed WHERE stage = 'near' LIMIT 9); UPDATE letter SET body = body || '。' WHERE id % 900 = 7");

# Families of texts, copies among them, rows without content.
$node->safe_psql('postgres', q{
	CREATE TABLE letter (id integer PRIMARY KEY, body text);
	-- Where a call stops for a while, if it is told to.
	CREATE FUNCTION slowly(id integer, body text) RETURNS text LANGUAGE plpgsql STABLE AS $$
		BEGIN IF id % 400 = 0 AND current_setting('test.slow', true) = 'yes' THEN PERFORM pg_sleep(0.05); END IF; RETURN body; END $$;
	CREATE PROCEDURE fill(a integer, b integer) LANGUAGE sql AS $$
		INSERT INTO letter SELECT i, CASE WHEN i % 97 > 0 THEN (
			SELECT string_agg(chr(19968 + (hashint4(p + 1000 * (i % 3000)) & 4095)
				+ CASE WHEN (hashint4(p * 31 + i % 2000) & 31) < i % 4 THEN 1000 ELSE 0 END), '' ORDER BY p)
			FROM generate_series(1, 50) p) END
		FROM generate_series(a, b) i $$});
$node->safe_psql('postgres', "CALL fill(1, $n)");
$node->safe_psql('postgres', $call{$_}) foreach sort keys %call;

# Every row once, each judged the same as the row that is kept for it, no two kept rows alike.
sub is_right
{
	my ($database, $result, $name) = @_;
	return is($node->safe_psql($database, qq{
			SELECT count(*) FROM letter l FULL JOIN $result r USING (id) WHERE l IS NULL OR r.arrival IS NULL;
			SELECT count(*) FROM $result r LEFT JOIN $result k ON k.id = r.keeper JOIN letter a ON a.id = r.id LEFT JOIN letter b ON b.id = k.id
			 WHERE k IS NULL OR k.stage NOT IN ('kept', 'empty') OR k.cluster <> r.cluster OR r.stage = 'exact' AND a.body <> b.body
				OR r.stage = 'near' AND NOT (near_dup(r.fp, k.fp, 12) AND ngram_jaccard(a.body, b.body) >= 0.5);
			SELECT count(*) FROM dedup('SELECT l.* FROM letter l JOIN $result r USING (id) WHERE stage = ''kept'' ORDER BY arrival', '{$plain}') WHERE stage <> 'kept'}),
		"0\n0\n0", "$name: $result is right");
}
sub state_of { my ($result) = @_; return $node->safe_psql('postgres', "SELECT count(*), sum(hashtext(r::text)::bigint) FROM $result r"); }

# Stopped in the middle.
my $log = -s $node->logfile;
foreach my $way ('cancel', 'terminate', 'kill', 'server')
{
	foreach my $change ('many', 'few')
	{
		$node->safe_psql('postgres', $change{$change});
		foreach my $result (sort keys %call)
		{
			my $before = state_of($result);
			my $session = session($node);
			${ $session->{in} } .= "SET test.slow = yes;\n" . "$call{$result};\nSELECT 'through';\n";
			my $pumps = 1 + int rand 80;
			while ($pumps-- > 0) { IPC::Run::pump_nb($session->{run}); usleep(5_000); }
			my $through = ${ $session->{out} } =~ /through/;
			if ($way eq 'server') { $node->stop('immediate'); $node->start; }
			elsif ($way eq 'kill') { kill 'KILL', $session->{pid}; }
			else { $node->safe_psql('postgres', "SELECT pg_${way}_backend($session->{pid})"); }
			ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid} AND state = 'active')"), "$way, $change: it returns");
			is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND locktype IN ('relation', 'advisory')"), '0', "$way, $change: nothing is locked");
			eval { IPC::Run::kill_kill($session->{run}, grace => 2) };
			# It may have come to its end in between.
			my $after = state_of($result);
			ok($after eq $before || is_right('postgres', $result, "$way, $change: through"), "$way, $change: $result is as it was, or as it is to be");
			$node->safe_psql('postgres', $call{$result});
			is_right('postgres', $result, "after $way, $change");
		}
	}
}
$log = -s $node->logfile;

# Two sessions at once: none fails.
$node->safe_psql('postgres', $change{few});
my @sessions = map { session($node) } 1 .. 4;
foreach my $at (0 .. 3)
{
	my $call = $call{ (sort keys %call)[$at % 2] };
	${ $sessions[$at]{in} } .= "$call; SELECT 'through';\n";
	IPC::Run::pump_nb($sessions[$at]{run});
}
foreach my $session (@sessions)
{
	my $said = finish_session($session);
	like($said, qr/through/, 'two sessions: one ends');
	unlike($said, qr/ERROR/, 'two sessions: without an error');
}
is_right('postgres', $_, 'two sessions') foreach sort keys %call;

# What a call says.
my (undef, undef, $said) = $node->psql('postgres', "SET pg_dedup.progress = '1ms'; CALL dedup_into('said', 'letter', '{\"columns\": \"body\"}')");
like($said, qr/dedup_into: reading: /, 'what is being done');
like($said, qr/dedup_into: writing the result: \d+ rows: \d+ kept, \d+ exact and \d+ near duplicates, \d+ empty; 0 clusters merged/, 'a summary');

# An ordinary user's results are dumped and restored, and go on in their new place.
$node->safe_psql('postgres', qq{DROP TABLE followed, followed_merges, followed_state, followed_todo, compared, compared_merges, compared_state; DROP FUNCTION followed_follow CASCADE;
	CREATE ROLE clerk LOGIN; GRANT CREATE ON SCHEMA public TO clerk; ALTER TABLE letter OWNER TO clerk});
my $as_clerk = sub {
	my ($database, $name) = @_;
	my $clerk = $node->connstr($database) . ' user=clerk';
	$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $clerk, '-c', $call{$_} ], "$name: an ordinary user calls it") foreach sort keys %call;
	is_right($database, $_, $name) foreach sort keys %call;
	return;
};
$as_clerk->('postgres', 'own');
$node->safe_psql('postgres', "CALL fill($n + 1, $n + 300)");
$as_clerk->('postgres', 'and again');
$node->safe_psql('postgres', "CALL fill($n + 301, $n + 310)");
my $dump = $node->basedir . '/into.dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'restore');
my $names = 'SELECT * FROM followed ORDER BY id; SELECT * FROM followed_merges ORDER BY merge; SELECT * FROM followed_todo ORDER BY id';
is($node->safe_psql('restored', $names), $node->safe_psql('postgres', $names), 'restored as it was');
$node->safe_psql('restored', "INSERT INTO letter SELECT id + 100000, CASE WHEN id % 3 = 0 THEN body ELSE body || '。' END FROM letter WHERE id % 200 = 0");
$as_clerk->('restored', 'after a restore');
log_is_clean($node, 'dedup_into', $log);
$node->stop;
done_testing();
