# Protects recovery under a load of everything at once: the server is stopped without a checkpoint at random moments, again
# and again (5,000 times with scripts/test --long), and what must hold does.
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

my $rounds = $ENV{DEDUP_TEST_ROUNDS} // ($ENV{DEDUP_TEST_LONG} ? 5_000 : 5);
my $n = rows(2_000);
test_seed();
my $node = new_node('rounds', conf => "full_page_writes = on\nrestart_after_crash = off\nwal_consistency_checking = 'Generic'\nmax_wal_size = 256MB\n");
make_tables($node, $n);
my @clients = clients($n);

foreach my $round (1 .. $rounds)
{
	my $milliseconds = 100 + int rand 900;
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 6, '-j', 1, '-T', 600, @clients, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	# Builds beside it, now and then.
	my $session = session($node);
	${ $session->{in} } .= ($round % 2 ? 'REINDEX INDEX CONCURRENTLY t_idx; ' : 'SELECT 1; ') x 50 . "\n";
	my $until = time + $milliseconds / 1000;
	while (time < $until) { IPC::Run::pump_nb($_) foreach $load, $session->{run}; usleep(10_000); }
	$node->stop('immediate');
	eval { IPC::Run::kill_kill($_, grace => 1) } foreach $load, $session->{run};
	# Clients fail because the server has gone, and for no other reason.
	my @wrong = grep { /ERROR|FATAL|wrong answer/ && !/server closed|terminating connection|shutting down|starting up|connection to server/ } split /\n/, $err;
	is(join("\n", @wrong), '', "round $round, stopped after $milliseconds ms: nothing was wrong before");
	$node->start;
	invariants($node, "round $round, stopped after $milliseconds ms");
	# What crashes leave behind stays bounded.
	$node->safe_psql('postgres', q{DO $$ DECLARE failed text; BEGIN
			FOR failed IN SELECT c.oid::regclass FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid AND c.relnamespace = 'public'::regnamespace LOOP
				EXECUTE 'DROP INDEX ' || failed; END LOOP; END $$;
		DELETE FROM t WHERE id % 3 = 0 AND (SELECT count(*) > 6000 FROM t); VACUUM t, g, s, x});
	if ($round % 100 == 0)
	{
		$node->safe_psql('postgres', 'TRUNCATE g, s, x, letter; DROP TABLE result, result_merges, result_state');
		$node->safe_psql('postgres', "CALL dedup_into('result', 'letter')");
	}
}
log_is_clean($node, 'crash rounds');
$node->stop;
done_testing();
