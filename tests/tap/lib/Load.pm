# A load of everything at once, for tests that let it run for a time or kill the server under it: rows come, change and
# go beside searches, guards, an exclusion constraint, dedup_into, VACUUM and CHECKPOINT. And what must hold afterwards.
package Load;

use strict;
use warnings;

use Dedup;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(make_tables clients invariants);

# t has an index, g a guard that rejects, s one that skips, x a constraint; letter is what dedup_into reads.
sub make_tables
{
	my ($node, $rows) = @_;
	$node->safe_psql('postgres', qq{
		CREATE TABLE t (id bigserial PRIMARY KEY, fp bigint);
		CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0);
		INSERT INTO t (fp) SELECT test.fp('hot', i) FROM generate_series(1, $rows) i;
		CREATE TABLE g (id bigserial PRIMARY KEY, fp bigint);
		CREATE INDEX g_idx ON g USING banding (fp);
		CREATE TRIGGER guard AFTER INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
		CREATE TABLE s (id bigserial PRIMARY KEY, fp bigint);
		CREATE INDEX s_idx ON s USING banding (fp);
		CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON s FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=skip');
		CREATE TABLE x (id bigserial PRIMARY KEY, fp bigint, CONSTRAINT x_idx EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~));
		CREATE TABLE letter (id bigserial PRIMARY KEY, body text);
		-- Who is rejected goes on, as an application does.
		CREATE FUNCTION store(tbl text, VARIADIC fps bigint[]) RETURNS void LANGUAGE plpgsql AS \$\$
		BEGIN EXECUTE format('INSERT INTO %I (fp) SELECT unnest(\$1)', tbl) USING fps;
		EXCEPTION WHEN exclusion_violation OR serialization_failure OR deadlock_detected THEN NULL; END \$\$;
		CREATE FUNCTION change(tbl text, new bigint, which bigint) RETURNS void LANGUAGE plpgsql AS \$\$
		BEGIN EXECUTE format('UPDATE %1\$I SET fp = \$1 WHERE id = (SELECT id FROM %1\$I WHERE id >= \$2 LIMIT 1)', tbl) USING new, which;
		EXCEPTION WHEN exclusion_violation OR serialization_failure OR deadlock_detected THEN NULL; END \$\$;
		CREATE FUNCTION write_letter(family bigint, copy bigint) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO letter (body) SELECT string_agg(chr(19968 + (hashint4(p + 1000 * family::integer) & 4095)
			+ CASE WHEN (hashint4(p * 31 + copy::integer) & 31) = 0 THEN 1000 ELSE 0 END), '' ORDER BY p) FROM generate_series(1, 40) p \$\$;
		CALL dedup_into('result', 'letter'); CALL dedup_into('followed', 'letter', '{"follow": true}')});
	return;
}

# Arguments of pgbench: scripts and their weights.
sub clients
{
	my ($rows) = @_;
	my $near = '(hashint8extended(:c, 0) # (1::bigint << :a) # (1::bigint << :b))';
	my $draw = "\\set c random(1, 2000)\n\\set d random(1, 2000)\n\\set a random(0, 63)\n\\set b random(0, 63)\n\\set i random(1, $rows)\n\\set r random(0, 12)\n";
	my %script = (
		'insert@8' => "INSERT INTO t (fp) SELECT test.fp('hot', :i + j) FROM generate_series(1, 5) j;\n",
		'delete@7' => "DELETE FROM t WHERE fp <@ hamming_ball(test.fp('hot', :i), 2) AND hashint8(id) % 2 = 0;\n",
		'update@5' => "UPDATE t SET fp = test.flip(fp, 2, :i) WHERE id = (SELECT id FROM t WHERE id >= :i LIMIT 1);\n",
		'abort@2' => "BEGIN;\nINSERT INTO t (fp) SELECT test.fp('hot', i) FROM generate_series(:i, :i + 20) i;\nROLLBACK;\n",
		'search@6' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.agree('t', test.fp('hot', :i), :r);\nCOMMIT;\n",
		'nearest@4' => "SELECT id FROM t ORDER BY fp <~> test.fp('hot', :i) LIMIT 20;\n",
		'guard@6' => "SELECT store('g', $near);\n", 'skip@6' => "SELECT store('s', $near, $near # 1);\n", 'constraint@6' => "SELECT store('x', $near);\n",
		'change@4' => "SELECT change('g', $near, :d), change('s', $near, :d);\n",
		'remove@2' => "DELETE FROM g WHERE id IN (SELECT id FROM g WHERE id > :c LIMIT 2);\nDELETE FROM x WHERE id IN (SELECT id FROM x WHERE id > :c LIMIT 2);\n",
		'letter@2' => "SELECT write_letter(:c % 300, :d);\n",
		'into@1' => "CALL dedup_into('result', 'letter');\n", 'follow@1' => "CALL dedup_into('followed', 'letter');\n",
		'vacuum@1' => "VACUUM (SKIP_LOCKED) t, g, s, x, result;\n", 'checkpoint@1' => "CHECKPOINT;\n");
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my @arguments;
	foreach my $name (sort keys %script)
	{
		my ($base, $weight) = split /@/, $name;
		append_to_file("$directory/$base.sql", $draw . $script{$name});
		push @arguments, '-f', "$directory/$base.sql\@$weight";
	}
	return @arguments;
}

# At rest: indexes are sound, no near rows have passed, no two kept rows of a result of dedup_into are duplicates, and the next call takes in the rest.
sub invariants
{
	my ($node, $name, %o) = @_;
	is_sound($node, 't', 't_idx', $name, queries => 2, radii => "'{0,1,3,6,10,20}'", k => "'{1,10,33}'");
	check_is_clean($node, $_, $name) foreach 'g_idx', 's_idx', 'x_idx';
	my %distance = (g => 6, s => 6, x => 3);
	foreach my $table (sort keys %distance)
	{
		is(scalar_of($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM $table a JOIN $table b ON a.id < b.id AND hamming(a.fp, b.fp) <= $distance{$table}"),
			'0', "$name: no near row has passed into $table");
	}
	foreach my $result ('result', 'followed')
	{
		my $wrong = qq{SELECT count(*) FROM dedup('SELECT l.* FROM letter l JOIN $result r USING (id) WHERE r.stage = ''kept'' ORDER BY r.arrival',
				(SELECT options - 'id' - 'columns' FROM ${result}_state)) WHERE stage <> 'kept';
			SELECT count(*) FROM $result r WHERE NOT EXISTS (SELECT FROM $result k WHERE k.id = r.keeper AND k.cluster = r.cluster AND k.stage IN ('kept', 'empty'))};
		is(scalar_of($node, $wrong), "0\n0", "$name: $result of dedup_into is right");
		is(scalar_of($node, "CALL dedup_into('$result', 'letter'); SELECT count(*) FROM letter FULL JOIN $result r USING (id) WHERE letter IS NULL OR r IS NULL; $wrong"), "0\n0\n0", "$name: $result lacks nothing");
	}
	is(scalar_of($node, "SELECT count(*) FROM pg_locks WHERE locktype IN ('userlock', 'advisory')"), '0', "$name: no lock is left");
	return;
}

1;
