# Protects indexes on bit: while rows come, change and go and VACUUM runs they answer as sequential scans do, on the primary and
# on a standby, and the guard lets in no two near rows; what a crash leaves is whole, though the parts of a row are records of their own.
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
my $node = new_node('bits', standby => 1, conf => "restart_after_crash = off\nwal_consistency_checking = 'all'\n");
my $n = rows(6_000);
# Of a hundred families some bits apart; some have a first part in common, or none.
$node->safe_psql('postgres', q{
	CREATE FUNCTION test.bits(i int) RETURNS bit(256) LANGUAGE sql IMMUTABLE RETURN CASE WHEN i % 31 > 0 THEN
		set_bit(set_bit(('x' || CASE WHEN i % 5 = 0 THEN '0123456789abcdef' ELSE substr(md5((i % 100)::text), 1, 16) END || md5((i % 100)::text || 'b')
			|| substr(md5((i % 100)::text || 'c'), 1, 16))::bit(256), i % 9973 * 7919 % 256, 1), i % 9973 * 104729 % 256, 0) END;
	-- An error if the index says something else than a sequential scan in one snapshot.
	CREATE FUNCTION test.bits_agree(q bit(256)) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE answer text; first text; found int := 0; d int;
	BEGIN
		FOREACH d IN ARRAY '{0,3,31,80,120}'::int[] LOOP
			SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on;
			SELECT concat(count(*), ' ', sum(id)) INTO first FROM b WHERE near_dup(h, q, d);
			SET LOCAL enable_bitmapscan = off;
			SELECT concat(count(*), ' ', sum(id)) INTO answer FROM b WHERE near_dup(h, q, d);
			IF answer <> first THEN RAISE '% bits: % by an index scan, % by a bitmap', d, answer, first; END IF;
			SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
			SELECT concat(count(*), ' ', sum(id)), count(*) INTO first, found FROM b WHERE near_dup(h, q, d);
			IF answer <> first THEN RAISE '% bits: % by the index, not %', d, answer, first; END IF;
		END LOOP;
		SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_indexscan = on;
		SELECT string_agg(apart::text, ' ') INTO answer FROM (SELECT h <-> q AS apart FROM b ORDER BY h <-> q LIMIT 300) s;
		SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_indexscan = off;
		SELECT string_agg(apart::text, ' ') INTO first FROM (SELECT h <-> q AS apart FROM b ORDER BY h <-> q LIMIT 300) s;
		IF answer IS DISTINCT FROM first THEN RAISE 'the nearest are %, not %', answer, first; END IF;
		RETURN found;
	END $$;
	CREATE TABLE b (id bigint, h bit(256)); CREATE INDEX b_idx ON b USING banding (h);
	CREATE TABLE g (id bigint GENERATED ALWAYS AS IDENTITY, h bit(256)); CREATE INDEX g_idx ON g USING banding (h);
	CREATE TRIGGER guard AFTER INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION near_dup_guard('h', 'distance=31');
	CREATE TABLE s (id bigint GENERATED ALWAYS AS IDENTITY, h bit(256)); CREATE INDEX s_idx ON s USING banding (h);
	CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON s FOR EACH ROW EXECUTE FUNCTION near_dup_guard('h', 'distance=31', 'action=skip')});
$node->safe_psql('postgres', "INSERT INTO b SELECT i, test.bits(i) FROM generate_series(1, $n) i");
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby')");
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('bits_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 60s\nprimary_slot_name = 'standby'\n");
$standby->start;

my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/ask.sql", "\\set i random(1, 3000)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.bits_agree(test.bits(:i * 31 + 1));\nCOMMIT;\n");
append_to_file("$dir/write.sql", "\\set i random(1, $n)\nINSERT INTO b SELECT j, test.bits(j) FROM generate_series(:i, :i + 20) j;\n"
	. "UPDATE b SET h = test.bits(:i + 1) WHERE id = :i;\nUPDATE b SET id = id WHERE id = :i + 3;\nDELETE FROM b WHERE id BETWEEN :i + 30 AND :i + 45;\n"
	. "BEGIN; INSERT INTO b SELECT j, test.bits(j) FROM generate_series(1, 20) j; ROLLBACK;\n");
append_to_file("$dir/vacuum.sql", "VACUUM b;\n\\sleep 100 ms\n");
append_to_file("$dir/guard.sql", "\\set i random(1, 3000)\nDO \$\$ BEGIN INSERT INTO g (h) VALUES (test.bits(:i)); EXCEPTION WHEN exclusion_violation THEN NULL; END \$\$;\n"
	. "DELETE FROM g WHERE id = (SELECT min(id) FROM g) AND :i % 5 = 0;\n"
	. "INSERT INTO s (h) VALUES (test.bits(:i));\nDELETE FROM s WHERE id = (SELECT min(id) FROM s) AND :i % 7 = 0;\n");
my %ran;
sub pgbench
{
	my ($on, $name, @arguments) = @_;
	my ($out, $err) = ('', '');
	$ran{ "$name " . $on->name } = { err => \$err,
		run => IPC::Run::start([ 'pgbench', '-n', '-T', 8, '-f', "$dir/$name.sql", @arguments, $on->connstr('postgres') ], '>', \$out, '2>', \$err) };
	return;
}
pgbench($node, 'write', '-c', 3);
pgbench($node, 'vacuum');
pgbench($node, 'guard', '-c', 3);
pgbench($node, 'ask', '-c', 2);
pgbench($standby, 'ask');
foreach my $name (sort keys %ran)
{
	eval { IPC::Run::finish($ran{$name}{run}) };
	unlike(${ $ran{$name}{err} }, qr/ERROR|FATAL|aborted/, "$name: nothing fails or answers wrongly");
}
foreach my $table ('g', 's')
{
	is(scalar_of($node, "SELECT count(*) FROM $table a JOIN $table b ON a.id < b.id WHERE hamming(a.h, b.h) <= 31"), '0', "$table: the guard has let in no two near rows");
	cmp_ok(scalar_of($node, "SELECT count(*) FROM $table"), '>', 20, "$table: but one of each family");
}
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
foreach my $on ($node, $standby)
{
	check_is_clean($on, 'b_idx', $on->name);
	cmp_ok(scalar_of($on, 'SELECT sum(test.bits_agree(test.bits(i))) FROM generate_series(1, 61, 6) i'), '>', 0, $on->name . ' agrees');
}

# Killed in the middle of inserts, a build and a VACUUM.
foreach my $round (1 .. 3)
{
	my @sessions = map { session($node) } 1 .. 3;
	${ $sessions[0]{in} } .= "DO \$\$ BEGIN FOR i IN 1 .. 100000 LOOP INSERT INTO b SELECT j, test.bits(j) FROM generate_series(i, i + 9) j; COMMIT; END LOOP; END \$\$;\n";
	${ $sessions[1]{in} } .= ($round == 2 ? 'REINDEX INDEX CONCURRENTLY b_idx; ' : 'DELETE FROM b WHERE random() < 0.05; VACUUM b; ') x 100 . "\n";
	${ $sessions[2]{in} } .= "BEGIN; INSERT INTO b SELECT i, test.bits(i) FROM generate_series(1, 500) i; SELECT pg_sleep(600);\n";
	my $until = Time::HiRes::time + 0.7 + rand(0.6);
	while (Time::HiRes::time < $until) { IPC::Run::pump_nb($_->{run}) foreach @sessions; usleep(10_000); }
	$node->stop('immediate');
	eval { IPC::Run::kill_kill($_->{run}, grace => 1) } foreach @sessions;
	$node->start;
	check_is_clean($node, 'b_idx', "after crash $round");
	cmp_ok(scalar_of($node, 'SELECT sum(test.bits_agree(test.bits(i))) FROM generate_series(1, 61, 6) i'), '>', 0, "after crash $round: agrees");
	$node->safe_psql('postgres', 'VACUUM b');
	check_is_clean($node, 'b_idx', "after crash $round and VACUUM");
}
log_is_clean($_, 'bits') foreach $node, $standby;
$node->stop;
done_testing();
