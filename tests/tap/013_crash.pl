# Protects the claim that every record of the index leaves a whole index: the
# server is killed in the middle of inserts, builds and vacuums, again and again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

test_seed();
my $node = new_node('crash', conf => "full_page_writes = on\nrestart_after_crash = off\nwal_consistency_checking = 'all'\n");
my $n = rows(12_000);
my $rounds = $ENV{DEDUP_TEST_ROUNDS} // 9;
$node->safe_psql('postgres', "CREATE TABLE t (id bigint, fp bigint); CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0);
	CREATE UNLOGGED TABLE u (id bigint, fp bigint); CREATE INDEX u_idx ON u USING banding (fp);
	INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i; CHECKPOINT");

# Each goes on until the server is gone.
my $insert = "DO \$\$ BEGIN FOR i IN 1 .. 1000000 LOOP
		INSERT INTO t SELECT j, test.fp('hot', j) FROM generate_series(%d + i * 50, %d + i * 50 + 49) j; COMMIT; END LOOP; END \$\$;";
my @work = (
	[ 'inserts', $insert ],
	[ 'builds', 'SELECT 1; ' . 'REINDEX INDEX t_idx; ' x 200 ],
	[ 'vacuums', 'DELETE FROM t WHERE hashint8(id) % 3 = 0; ' . 'VACUUM t; DELETE FROM t WHERE random() < 0.05; INSERT INTO t SELECT id, fp FROM t WHERE random() < 0.05; ' x 200 ],
	[ 'inserts and vacuums', $insert, 'VACUUM t; ' x 2000 ],
	[ 'inserts and concurrent builds', $insert, 'REINDEX INDEX CONCURRENTLY t_idx; ' x 200 ],
	[ 'inserts, updates and checkpoints', $insert, "UPDATE t SET fp = test.flip(fp, 2, id) WHERE id % 10 = 3; " x 100, 'CHECKPOINT; ' x 1000 ]);

foreach my $round (0 .. $rounds - 1)
{
	my ($name, @sql) = @{ $work[ $round % @work ] };
	$name = "round $round, $name";
	# A transaction that is never committed, with entries all over the index.
	my @sessions = map { session($node) } 0 .. @sql;
	${ $sessions[0]{in} } .= "BEGIN; INSERT INTO t SELECT -i, test.fp('hot', i) FROM generate_series(1, 300) i; SELECT pg_sleep(600);\n";
	foreach my $i (1 .. @sql)
	{
		my $base = 1_000_000 * ($round + 1) + 100_000 * $i;
		${ $sessions[$i]{in} } .= ($sql[ $i - 1 ] =~ s/%d/$base/gr) . "\n";
	}
	$node->safe_psql('postgres', "INSERT INTO u SELECT i, test.fp('hot', i) FROM generate_series(1, 2000) i");
	IPC::Run::pump_nb($_->{run}) foreach @sessions;
	# Somewhere else each time; a big data set takes longer to get anywhere.
	my $until = Time::HiRes::time + 0.25 + ($round * 0.37) % 1.1 + rand(0.5);
	while (Time::HiRes::time < $until) { IPC::Run::pump_nb($_->{run}) foreach @sessions; usleep(10_000); }
	$node->stop('immediate');
	eval { IPC::Run::kill_kill($_->{run}, grace => 1) } foreach @sessions;
	$node->start;

	is_sound($node, 't', 't_idx', $name, queries => 3, radii => "'{0,1,2,3,4,7,10,13,20}'");
	is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) FROM u WHERE fp <@ hamming_ball(0, 64)'), '0', "$name: the unlogged index is empty");
	$node->safe_psql('postgres', "INSERT INTO u SELECT i, test.fp('hot', i) FROM generate_series(1, 2000) i");
	is_sound($node, 'u', 'u_idx', "$name, unlogged", queries => 2, radii => "'{0,3,7}'", k => "'{10}'");
	# What the crash has left behind is removed, and room used again.
	$node->safe_psql('postgres', "VACUUM t; DELETE FROM t WHERE id > 1000000 AND hashint8(id) % 2 = 0; INSERT INTO t SELECT $round * 100 + i, test.fp('hot', i) FROM generate_series(1, 100) i; VACUUM t; TRUNCATE u");
	check_is_clean($node, 't_idx', "$name, after VACUUM");
}
answers_agree($node, 't', 'after all rounds');
$node->safe_psql('postgres', "REINDEX INDEX t_idx");
is_sound($node, 't', 't_idx', 'rebuilt after all rounds', queries => 2);
log_is_clean($node, 'crash');
$node->stop;
done_testing();
