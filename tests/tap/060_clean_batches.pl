# Protects what dedup_clean_batches commits: killed anywhere, each batch is whole or not there, a second call goes on, and what
# both have removed comes back.
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
my $node = new_node('clean_batches', conf => "restart_after_crash = on\n");
my $rows = 3 * rows(2000);
$node->safe_psql('postgres', "CREATE TABLE big (id int PRIMARY KEY, body text, tags int[]);
	INSERT INTO big SELECT i, 'lamp ' || md5((i / 3)::text) || ' ' || md5((i / 3 + 5000)::text), ARRAY[i] FROM generate_series(3, $rows + 2) i;
	CREATE TABLE part (id int PRIMARY KEY, big int REFERENCES big ON DELETE CASCADE); INSERT INTO part SELECT id, id FROM big; CREATE INDEX ON part (big);
	SELECT dedup_setup('big', '{\"columns\": \"body\", \"recipe\": {}, \"distance\": 3, \"similarity\": 0, \"n\": 2, \"details\": []}');
	CREATE TABLE before AS TABLE big; CREATE TABLE before_part AS TABLE part");
my $call = q{CALL dedup_clean_batches('big', '{"batch": 50, "references": "repoint", "fill": {"tags": "union"}}')};
my $there = 'SELECT count(*) FROM big';
my $runs = 0;
foreach my $round (1 .. 4)
{
	my $session = session($node);
	${ $session->{in} } .= "SET client_min_messages = error;\n$call;\n";
	my $left = $rows - 200 * $round;
	IPC::Run::pump_nb($session->{run});
	wait_until($node, "SELECT count(*) < $left FROM big");
	usleep(int rand 30_000);
	# One backend alone, as the system does that is short of memory, or the whole server.
	$round % 2 ? kill('KILL', $session->{pid}) : $node->stop('immediate');
	eval { IPC::Run::kill_kill($session->{run}, grace => 1) };
	$node->start unless $round % 2;
	$node->poll_query_until('postgres', 'SELECT pg_postmaster_start_time() IS NOT NULL');
	# Each row once, groups whole, and what pointed at them and what they had at the kept ones.
	is(scalar_of($node, q{SELECT format('%s %s', count(*), count(DISTINCT id)) FROM (SELECT id FROM big UNION ALL SELECT id FROM big_archive WHERE dedup_stage <> 'filled') r}), "$rows $rows", "round $round: each row is there once");
	is(scalar_of($node, q{SELECT count(*) FROM (SELECT count(*) FROM big GROUP BY id / 3) g(n) WHERE n NOT IN (1, 3)}), 0, "round $round: each group whole");
	is(scalar_of($node, q{SELECT count(*) FROM big b JOIN (SELECT id / 3 AS g, count(*) AS n FROM big GROUP BY 1) g ON g.g = b.id / 3 WHERE cardinality(b.tags) <> CASE g.n WHEN 1 THEN 3 ELSE 1 END}), 0, "round $round: kept rows are filled, and no others");
	is(scalar_of($node, q{SELECT count(*) FROM part p LEFT JOIN big b ON b.id = p.big WHERE b.id / 3 IS DISTINCT FROM p.id / 3}), 0, "round $round: what points at them stays with them");
	cmp_ok(scalar_of($node, 'SELECT count(DISTINCT dedup_run) FROM big_archive'), '==', ++$runs, "round $round: a call is one run");
}
my ($ret, undef, $told) = $node->psql('postgres', $call);
is($ret, 0, 'the next call goes on');
like($told, qr/run \d+: 50 of \d+ rows are removed, 50 looked at.*HINT:  To put them back: SELECT public\.dedup_undo\('public\.big', \d+\);/s, 'and says how far it is');
is(scalar_of($node, "$there"), $rows / 3, 'to the end');
($ret, undef, $told) = $node->psql('postgres', "BEGIN; $call", extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($told, qr/2D000/, 'not in a transaction');
$node->safe_psql('postgres', q{SET client_min_messages = error; SELECT dedup_undo('big', run) FROM (SELECT DISTINCT dedup_run AS run FROM big_archive ORDER BY 1) r});
is(scalar_of($node, 'SELECT count(*) FROM big JOIN before USING (id) WHERE big.* *= before.*') . ' ' . scalar_of($node, 'SELECT count(*) FROM part JOIN before_part USING (id, big)') . ' ' . scalar_of($node, 'SELECT count(*) FROM big_archive'),
	"$rows $rows 0", 'all is as it was');
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC|panicked|leak/, 'nothing in the log that should not be there');
done_testing();
