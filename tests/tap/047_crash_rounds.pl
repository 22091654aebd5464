# Protects recovery under a load of everything at once: the server is stopped without a checkpoint at random moments, again
# and again (5,000 times with scripts/test --long, DEDUP_TEST_STOPS with another number), and what must hold does. Every
# twentieth time, beside builds, all of it is compared; in between indexes are checked, two searches compared, and near
# rows counted.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use Load;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rounds = $ENV{DEDUP_TEST_STOPS} // ($ENV{DEDUP_TEST_LONG} ? 5_000 : 280);
my $n = rows(2_000);
test_seed();
my $node = new_node('rounds', conf => "full_page_writes = on\nrestart_after_crash = off\nwal_consistency_checking = 'Generic'\nmax_wal_size = 256MB\n");
make_tables($node, $n);
my @clients = clients($n);

foreach my $round (1 .. $rounds)
{
	my $all = $round % 20 == 1;
	my $milliseconds = $all ? 100 + int rand 900 : 60 + int rand 240;
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 6, '-j', 1, '-T', 600, @clients, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	# Builds beside it, now and then.
	my @sessions = $all ? session($node) : ();
	${ $_->{in} } .= 'REINDEX INDEX CONCURRENTLY t_idx; ' x 50 . "\n" foreach @sessions;
	my $until = time + $milliseconds / 1000;
	while (time < $until) { IPC::Run::pump_nb($_) foreach $load, map { $_->{run} } @sessions; usleep(10_000); }
	$node->stop('immediate');
	eval { IPC::Run::kill_kill($_, grace => 1) } foreach $load, map { $_->{run} } @sessions;
	# Clients fail because the server has gone, and for no other reason.
	my @wrong = grep { /ERROR|FATAL|wrong answer/ && !/server closed|terminating connection|shutting down|starting up|connection to server/ } split /\n/, $err;
	is(join("\n", @wrong), '', "round $round, stopped after $milliseconds ms: nothing was wrong before");
	$node->start;
	my $name = "round $round, stopped after $milliseconds ms";
	if (!$all)
	{
		is($node->safe_psql('postgres', "SELECT i FROM unnest('{t_idx,g_idx,s_idx,x_idx}'::regclass[]) i WHERE banding_check(i, true) IS NULL;
			SELECT 'found' FROM generate_series(1, 2) i WHERE test.agree('t', test.fp('hot', $round * 7 + i), $round % 13) < 0;
			SET enable_indexscan = off; SET enable_bitmapscan = off;
			SELECT id FROM (SELECT * FROM g ORDER BY id DESC LIMIT 300) a WHERE EXISTS (SELECT FROM g WHERE g.id <> a.id AND hamming(a.fp, g.fp) <= 6);
			SELECT id FROM (SELECT * FROM x ORDER BY id DESC LIMIT 300) a WHERE EXISTS (SELECT FROM x WHERE x.id <> a.id AND hamming(a.fp, x.fp) <= 3)"),
			'', "$name: indexes are sound, no near row has passed");
		next;
	}
	invariants($node, $name);
	# What crashes leave behind stays bounded.
	$node->safe_psql('postgres', q{DO $$ DECLARE failed text; BEGIN
			FOR failed IN SELECT c.oid::regclass FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid AND c.relnamespace = 'public'::regnamespace LOOP
				EXECUTE 'DROP INDEX ' || failed; END LOOP; END $$;
		DELETE FROM t WHERE id % 3 = 0 AND (SELECT count(*) > 6000 FROM t); VACUUM t, g, s, x});
	if ($round % 100 == 1)
	{
		$node->safe_psql('postgres', 'TRUNCATE g, s, x, letter; DROP TABLE result, result_merges, result_state');
		$node->safe_psql('postgres', "CALL dedup_into('result', 'letter')");
	}
}
log_is_clean($node, 'crash rounds');
$node->stop;
done_testing();
