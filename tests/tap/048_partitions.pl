# Protects partitioned tables: whatever the tree, in range, list and hash, up to three levels deep, a partitioned table
# answers as a plain one with the same rows does, also while partitions come and go; a guard keeps near rows out across
# partitions under writers; and what a constraint on a partitioned table can and cannot promise is what docs/prevent.md says.
# DEDUP_TEST_SEED chooses the trees.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

test_seed();
my $node = new_node('partitions');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $n = rows(6_000);

# The statements that divide $table, whose key columns are left to choose from; a leaf has its rows.
my $number = 0;
sub divide
{
	my ($depth, $table, @kinds) = @_;
	my $kind = splice(@kinds, int rand @kinds, 1);
	my @bounds = $kind eq 'range' ? ('FROM (MINVALUE) TO (10)', 'FROM (10) TO (20)', 'FROM (20) TO (MAXVALUE)')
	  : $kind eq 'list' ? ("IN ('a', 'b')", "IN ('c', NULL)", 'DEFAULT') : map { "WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2;
	my @sql;
	foreach my $bound (@bounds)
	{
		my $name = 'p' . ++$number;
		my $deeper = $depth > 1 && @kinds && rand() < 0.8;
		my ($below, @inner) = $deeper ? divide($depth - 1, $name, @kinds) : ('');
		my $for = $bound eq 'DEFAULT' ? $bound : "FOR VALUES $bound";
		push @sql, "CREATE TABLE $name PARTITION OF $table $for$below", @inner;
	}
	my %by = (range => 'RANGE (month)', list => 'LIST (kind)', hash => 'HASH (id)');
	return (" PARTITION BY $by{$kind}", @sql);
}

# What both must answer alike, %s being the table. Sums, because order is nobody's promise.
my @queries = (
	(map { "SELECT count(*), sum(id) FROM %s WHERE near_dup(fp, test.fp('uniform', $_->[0]), $_->[1])" } [ 8, 0 ], [ 41, 4 ], [ 300, 9 ], [ 2000, 20 ]),
	'SELECT count(*), sum(id) FROM %s WHERE near_dup(fp, test.fp($$uniform$$, 41), 12) AND month BETWEEN 5 AND 14',
	'SELECT string_agg(d::text, $$,$$) FROM (SELECT fp <~> test.fp($$uniform$$, 41) AS d FROM %s ORDER BY fp <~> test.fp($$uniform$$, 41) LIMIT 60) n',
	'SELECT string_agg(d::text, $$,$$) FROM (SELECT fp <~> 77 AS d FROM %s WHERE kind = $$c$$ ORDER BY fp <~> 77 LIMIT 9) n',
	'SELECT count(*), sum(x.id * y.id) FROM %1$s x JOIN %1$s y ON near_dup(x.fp, y.fp, 3) AND x.id < y.id WHERE x.month = 3',
	'SELECT count(*), sum(o.id) FROM (SELECT fp FROM %1$s WHERE id % 100 = 5) q, LATERAL (SELECT id FROM %1$s p WHERE near_dup(p.fp, q.fp, 7)) o',
	q{SELECT count(*), sum(a), sum(b), sum(distance) FROM near_dup_pairs('SELECT id, fp FROM %s', '{"distance": 5}')},
	q{SELECT count(*), sum(keeper), count(*) FILTER (WHERE stage = 'near') FROM dedup('SELECT id, body, fp FROM %s ORDER BY id', '{"fp": "fp", "distance": 6, "similarity": 0}')});

sub alike
{
	my ($name) = @_;
	my @wrong;
	foreach my $query (@queries)
	{
		foreach my $off ('enable_seqscan', 'enable_indexscan', 'enable_indexscan = off; SET enable_bitmapscan')
		{
			my ($part, $plain) = map { $node->safe_psql('postgres', "SET $off = off; " . ($query =~ s/%(?:1\$)?s/$_/gr)) } 'part', 'plain';
			push @wrong, "$off: $query: $part, not $plain" if $part ne $plain;
			# Pairs and groups do not go by the planner's choice.
			last if $query =~ /near_dup_pairs|dedup\(/;
		}
	}
	return is(join("\n", @wrong), '', $name);
}

foreach my $tree (1 .. 3)
{
	$number = 0;
	my ($by, @sql) = divide($tree, 'part', qw(range list hash));
	my $columns = '(id bigint, month integer, kind text, body text, fp bigint)';
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS part, plain, part_aside');
	$node->safe_psql('postgres', $_) foreach "CREATE TABLE plain $columns", "CREATE TABLE part $columns$by", @sql,
	  'CREATE INDEX ON part USING banding (fp)', 'CREATE INDEX ON plain USING banding (fp)';
	my $shape = join '; ', map { /(p\d+) PARTITION OF (\w+)/ ? "$1 of $2" : () } @sql;
	note "tree $tree: $shape";
	my $rows = "SELECT i, i % 30, CASE i % 7 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' WHEN 3 THEN NULL ELSE 'd' END,
		'text ' || i / 4, CASE WHEN i % 50 > 0 THEN test.fp('uniform', i) END FROM generate_series(1, $n) i";
	$node->safe_psql('postgres', "INSERT INTO $_ $rows; ANALYZE $_") foreach 'part', 'plain';
	alike("tree $tree: answers of a plain table");

	# In order from all partitions at once, and no further than asked: of each partition some rows, not all.
	my $plan = $node->safe_psql('postgres', 'SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
		SELECT id FROM part ORDER BY fp <~> 4711 LIMIT 5');
	like($plan, qr/Merge Append/, "tree $tree: the nearest come by merge append");
	my ($read) = (0);
	$read += $1 foreach $plan =~ /Index Scan using.*?rows=(\d+)/g;
	cmp_ok($read, '<', $n / 20, "tree $tree: and it stops early ($read rows read)");

	# Updates move rows between partitions; some leave, some come.
	foreach my $table ('part', 'plain')
	{
		$node->safe_psql('postgres', "UPDATE $table SET month = (month + 7) % 30, kind = CASE kind WHEN 'a' THEN 'c' ELSE kind END WHERE id % 9 = 1;
			UPDATE $table SET fp = test.flip(fp, 4, id) WHERE id % 11 = 2; DELETE FROM $table WHERE id % 13 = 3");
	}
	alike("tree $tree: after rows have moved");

	# A direct partition leaves and comes back, with an index of its own or without.
	my ($leaf) = map { /TABLE (p\d+) PARTITION OF part / ? $1 : () } @sql;
	my $bound = $node->safe_psql('postgres', "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = '$leaf'");
	my $has_default = $node->safe_psql('postgres', "SELECT EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = 'part'::regclass AND partdefid <> 0)") eq 't';
	# CONCURRENTLY is not for tables with a default partition.
	$node->safe_psql('postgres', "ALTER TABLE part DETACH PARTITION $leaf" . ($tree % 2 && !$has_default ? ' CONCURRENTLY' : ''));
	$node->safe_psql('postgres', "CREATE TABLE part_aside AS SELECT id FROM $leaf; ALTER TABLE plain RENAME TO plain_all;
		CREATE TABLE plain AS SELECT * FROM plain_all WHERE id NOT IN (SELECT id FROM $leaf); CREATE INDEX ON plain USING banding (fp)");
	alike("tree $tree: a partition is gone");
	$node->safe_psql('postgres', "ALTER TABLE part ATTACH PARTITION $leaf $bound; DROP TABLE plain; ALTER TABLE plain_all RENAME TO plain");
	alike("tree $tree: and is there again");
	my $indexes = $node->safe_psql('postgres', q{SELECT indexrelid::regclass FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'banding')});
	my @bad = grep { $node->psql('postgres', "SELECT banding_check('$_', true)") != 0 } split /\n/, $indexes;
	is("@bad", '', "tree $tree: all indexes are sound");
}

# A guard across partitions, under writers: no two near rows, wherever they are. Without a guard there would be many.
$node->safe_psql('postgres', q{
	CREATE TABLE doc (id bigserial, month integer, fp bigint, PRIMARY KEY (id, month)) PARTITION BY RANGE (month);
	CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
	CREATE TABLE doc_2 PARTITION OF doc FOR VALUES FROM (10) TO (20) PARTITION BY HASH (id);
	CREATE TABLE doc_2a PARTITION OF doc_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE doc_2b PARTITION OF doc_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE doc_3 PARTITION OF doc DEFAULT;
	CREATE INDEX ON doc USING banding (fp);
	CREATE TRIGGER guard AFTER INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
	CREATE FUNCTION store(new_fp bigint, new_month integer) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO doc (month, fp) VALUES (new_month, new_fp); EXCEPTION WHEN exclusion_violation THEN NULL; END $$;
	-- Of two that move one row at the same time PostgreSQL lets one fail, as a serialization failure.
	CREATE FUNCTION move(which bigint, new_month integer) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN UPDATE doc SET month = new_month WHERE id = (SELECT min(id) FROM doc WHERE id >= which);
		EXCEPTION WHEN exclusion_violation OR serialization_failure THEN NULL; END $$});
my $file = PostgreSQL::Test::Utils::tempdir . '/write.sql';
append_to_file($file, "\\set c random(1, 400)\n\\set a random(0, 63)\n\\set b random(0, 63)\n\\set m random(0, 29)\n\\set w random(1, 300)\n"
	  . "SELECT store(test.random_fp(:c) # (1::bigint << :a) # (1::bigint << :b), :m);\nSELECT move(:w, :m);\n");
my ($out, $err) = ('', '');
IPC::Run::run([ 'pgbench', '-n', '-c', 6, '-j', 2, '-t', 250, '-f', $file, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
unlike($err, qr/ERROR|aborted|FATAL/, 'guard: no writer failed');
# Since 15 pgbench does not speak of serialization failures and deadlocks.
like($out, qr{actually processed: 1500/1500}, 'guard: all was done');
cmp_ok(scalar_of($node, 'SELECT count(*) FROM doc'), '>', 200, 'guard: rows were stored');
is(scalar_of($node, 'SELECT count(DISTINCT tableoid) FROM doc'), '4', 'guard: in all partitions');
is(scalar_of($node, 'SELECT count(*) FROM doc a JOIN doc b ON a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 6'), '0', 'guard: no near rows');

# A constraint on the parent cannot be until 16, and then needs the partition key, compared by =; on a partition it holds there.
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'ALTER TABLE doc ADD EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~)');
like($stderr, $version < 170000 ? qr/exclusion constraints are not supported on partitioned tables/ : qr/must include all partitioning columns/,
	'a constraint on the parent is refused');
$node->safe_psql('postgres', 'ALTER TABLE doc DISABLE TRIGGER guard; ALTER TABLE doc_1 ADD EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~); INSERT INTO doc VALUES (1000001, 1, 4711), (1000002, 25, 4711)');
($ret, $stdout, $stderr) = $node->psql('postgres', 'INSERT INTO doc VALUES (1000003, 2, 4710)');
like($stderr, qr/conflicting key value violates exclusion constraint/, 'a constraint of a partition holds within it');
is(scalar_of($node, 'SELECT count(*) FROM doc WHERE near_dup(fp, 4711, 3)'), '2', 'and not beyond');

log_is_clean($node, 'partitions');
$node->stop;
done_testing();
