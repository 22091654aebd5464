# Protects EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~): of two rows within three bits of
# one another exactly one gets in, whoever comes when.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('exclusion', conf => "deadlock_timeout = 200ms\n");
$node->safe_psql('postgres', 'CREATE TABLE x (id bigint, fp bigint, CONSTRAINT x_near EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~))');

sub outcome
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
	return $err =~ /ERROR:\s+(\w+)/ ? $1 : 'ok';
}
is(outcome('INSERT INTO x VALUES (1, 0)'), 'ok', 'a first row');
is(outcome('INSERT INTO x VALUES (2, 7)'), '23P01', 'three bits away is too near');
is(outcome('INSERT INTO x VALUES (2, 15)'), 'ok', 'four bits away is not');
is(outcome('INSERT INTO x VALUES (3, NULL), (4, NULL)'), 'ok', 'NULLs are near nothing');
is(outcome('UPDATE x SET fp = 1 WHERE id = 2'), '23P01', 'an update that comes too near');
is(outcome('UPDATE x SET fp = 1::bigint << 40 WHERE id = 1'), 'ok', 'a row is not in its own way');
is(outcome('INSERT INTO x VALUES (5, 1::bigint << 40) ON CONFLICT DO NOTHING'), 'ok', 'ON CONFLICT DO NOTHING');
is(scalar_of($node, 'SELECT count(*) FROM x'), '4', 'does nothing');
is(outcome('DELETE FROM x WHERE id = 1; INSERT INTO x VALUES (1, 1::bigint << 40)'), 'ok', 'a deleted row is in nobody\'s way');
is(outcome('INSERT INTO x VALUES (6, x\'ff00\'::bigint), (7, x\'ff01\'::bigint)'), '23P01', 'nor do two rows of one statement get in together');

# Two sessions.
my ($a, $b);
my $ask = sub {
	my ($session, $sql, $wait) = @_;
	${ $session->{out} } = ${ $session->{err} } = '';
	${ $session->{in} } .= "$sql;\n\\echo end\n";
	return IPC::Run::pump_nb($session->{run}) if $wait;
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/;
	return ${ $session->{err} } =~ /ERROR:\s+(\w+)/ ? $1 : 'ok';
};
my $answer = sub {
	my ($session) = @_;
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/;
	return ${ $session->{err} } =~ /ERROR:\s+(\w+)/ ? $1 : 'ok';
};
foreach my $case ([ 'COMMIT', '23P01' ], [ 'ROLLBACK', 'ok' ])
{
	my ($end, $expected) = @$case;
	foreach my $second ('INSERT INTO x VALUES (101, 1000001)', 'INSERT INTO x VALUES (101, 1000001) ON CONFLICT DO NOTHING')
	{
		$node->safe_psql('postgres', 'DELETE FROM x WHERE id >= 100; VACUUM x');
		($a, $b) = map { session($node, '-v', 'VERBOSITY=sqlstate') } 1, 2;
		is($ask->($a, 'BEGIN; INSERT INTO x VALUES (100, 1000000)'), 'ok', "$end, $second: the first is in");
		$ask->($b, $second, 1);
		ok(wait_until($node, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $b->{pid}"), "$end: the second waits");
		is($ask->($a, $end), 'ok', "$end: the first ends");
		is($answer->($b), $second =~ /CONFLICT/ ? 'ok' : $expected, "$end: the second is told");
		is(scalar_of($node, 'SELECT count(*) FROM x WHERE id >= 100'), '1', "$end: exactly one has passed");
		finish_session($_) foreach $a, $b;
	}
}

# Each waits for the other: one is told of a deadlock, one passes.
$node->safe_psql('postgres', 'DELETE FROM x');
($a, $b) = map { session($node, '-v', 'VERBOSITY=sqlstate') } 1, 2;
$ask->($a, 'BEGIN; INSERT INTO x VALUES (100, 0)');
$ask->($b, 'BEGIN; INSERT INTO x VALUES (101, 255)');
$ask->($a, 'INSERT INTO x VALUES (102, 254)', 1);
wait_until($node, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $a->{pid}");
$ask->($b, 'INSERT INTO x VALUES (103, 1)', 1);
my @answers = ($answer->($a), $ask->($a, 'COMMIT'), $answer->($b), $ask->($b, 'COMMIT'));
is(scalar(grep { $_ eq '40P01' } @answers), 1, 'a deadlock is found');
finish_session($_) foreach $a, $b;
is(scalar_of($node, 'SELECT count(*) FROM x p, x q WHERE p.id < q.id AND bit_count((p.fp # q.fp)::bit(64)) <= 3'), '0', 'and no near pair is in');

# Deferred to the end of the transaction; partial; added to a table that has pairs.
$node->safe_psql('postgres', 'CREATE TABLE late (id bigint, fp bigint, live boolean DEFAULT true,
	EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~) WHERE (live) DEFERRABLE INITIALLY DEFERRED)');
is(outcome('BEGIN; INSERT INTO late VALUES (1, 1), (2, 2); UPDATE late SET fp = -1 WHERE id = 2; COMMIT'), 'ok', 'deferred: a pair that is gone at COMMIT');
is(outcome('BEGIN; INSERT INTO late VALUES (3, 0); COMMIT'), '23P01', 'deferred: a pair that is not');
is(outcome('INSERT INTO late VALUES (3, 0, false), (4, 0, false)'), 'ok', 'partial: rows outside the predicate');
is(outcome('UPDATE late SET live = true WHERE id = 3'), '23P01', 'partial: a row that comes into it');
is(outcome('CREATE TABLE pairs AS SELECT i AS id, i::bigint AS fp FROM generate_series(1, 100) i; ALTER TABLE pairs ADD EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~)'),
	'23P01', 'a constraint is not added to a table that breaks it');

# Many clients with families of near rows, and VACUUM: at most one of a family.
my $directory = PostgreSQL::Test::Utils::tempdir;
append_to_file("$directory/nothing.sql", "\\set i random(1, 300)\n\\set j random(0, 63)\nINSERT INTO x VALUES (:i, test.random_fp(:i) # (1::bigint << :j)) ON CONFLICT DO NOTHING;\n");
append_to_file("$directory/try.sql", "\\set i random(1, 300)\n\\set j random(0, 63)\nDO \$\$ BEGIN INSERT INTO x VALUES (:i, test.random_fp(:i) # (1::bigint << :j)); EXCEPTION WHEN exclusion_violation OR deadlock_detected THEN NULL; END \$\$;\n");
append_to_file("$directory/delete.sql", "\\set i random(1, 300)\nDELETE FROM x WHERE id = :i;\n");
append_to_file("$directory/move.sql", "\\set i random(1, 300)\n\\set j random(1, 300)\nDO \$\$ BEGIN UPDATE x SET fp = test.random_fp(:j), id = :j WHERE id = :i; EXCEPTION WHEN exclusion_violation OR deadlock_detected OR cardinality_violation THEN NULL; END \$\$;\n");
append_to_file("$directory/vacuum.sql", "VACUUM (SKIP_LOCKED) x;\n");
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 8, '-j', 1, '-T', 10,
	(map { ('-f', "$directory/$_") } 'nothing.sql@4', 'try.sql@4', 'delete.sql@3', 'move.sql@2', 'vacuum.sql@1'),
	$node->connstr('postgres') ]);
unlike($err, qr/ERROR|aborted|FATAL/, 'no client failed');
is(scalar_of($node, 'SELECT count(*) FROM x p, x q WHERE p.ctid < q.ctid AND bit_count((p.fp # q.fp)::bit(64)) <= 3'), '0', 'no near pair is in');
cmp_ok(scalar_of($node, 'SELECT count(*) FROM x'), '>', 100, 'but many rows are');
check_is_clean($node, 'x_near', 'after the clients');
log_is_clean($node, 'exclusion');
$node->stop;
done_testing();
