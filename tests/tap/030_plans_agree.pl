# Protects the promise that an index changes no answer: draws queries at random
# and compares what plans with the index give with what sequential scans give.
# DEDUP_TEST_QUERIES is the number of queries.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = test_seed();
my $queries = $ENV{DEDUP_TEST_QUERIES} // rows(2500);

my $node = new_node('plans_agree');

# fp is the indexed expression; the partial indexes ask for kind = 1.
my %fp_of = (
	plain => 'fp', strict => 'fp', partial => 'fp', present => 'fp', parted => 'fp',
	computed => '(a # b)', worded => 'simhash(body)');
my @tables = sort keys %fp_of;
my $n = rows(1500);
my $columns = 'id bigint, grp integer, kind integer';
my $values = "i, (hashint8(i) & 255) % 20, i % 3";
my $some = "CASE WHEN i % 7 = 0 THEN NULL ELSE test.fp('hot', i) END";
$node->safe_psql(
	'postgres', qq{
CREATE TABLE plain ($columns, fp bigint);
INSERT INTO plain SELECT $values, $some FROM generate_series(1, 4 * $n) i;
CREATE INDEX ON plain USING banding (fp);
CREATE TABLE strict ($columns, fp bigint NOT NULL);
INSERT INTO strict SELECT $values, test.fp('duplicates', i) FROM generate_series(1, $n) i;
CREATE INDEX ON strict USING banding (fp);
CREATE TABLE partial ($columns, fp bigint);
INSERT INTO partial SELECT $values, $some FROM generate_series(1, $n) i;
CREATE INDEX ON partial USING banding (fp) WHERE kind = 1;
CREATE TABLE present ($columns, fp bigint);
INSERT INTO present SELECT $values, $some FROM generate_series(1, $n) i;
CREATE INDEX ON present USING banding (fp) WHERE fp IS NOT NULL;
CREATE TABLE parted ($columns, fp bigint) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT $values, $some FROM generate_series(1, $n) i;
CREATE INDEX ON parted USING banding (fp);
CREATE TABLE computed ($columns, a bigint, b bigint);
INSERT INTO computed SELECT $values, $some # i, i FROM generate_series(1, $n) i;
CREATE INDEX ON computed USING banding ((a # b));
CREATE TABLE worded ($columns, body text);
INSERT INTO worded SELECT $values, CASE WHEN i % 7 = 0 THEN '' ELSE 'noise in street ' || i / 9 || ' again ' || i % 3 END
  FROM generate_series(1, $n / 3) i;
CREATE INDEX ON worded USING banding (simhash(body));
ANALYZE plain, strict, partial, present, parted, computed, worded});

my @known = map { [ split /\n/, scalar_of($node, "SELECT f FROM (SELECT $fp_of{$_} AS f, id FROM $_) s WHERE f IS NOT NULL ORDER BY hashint8(id) LIMIT 40") ] } @tables;
my %known;
@known{@tables} = @known;

sub one_of { return $_[ int(rand(@_)) ] }
sub maybe { my ($chance, $text) = @_; return rand() < $chance ? $text : '' }

# A fingerprint to compare with, sometimes NULL, sometimes known only when the query runs.
sub point
{
	my ($table) = @_;
	my $known = one_of(@{ $known{$table} });
	return 'NULL::bigint' if rand() < 0.03;
	return "(SELECT $fp_of{$table} FROM $table WHERE id = " . int(rand($n)) . ' LIMIT 1)' if rand() < 0.15;
	return "test.flip($known, " . int(rand(6)) . ', ' . int(rand(1000)) . ')' if rand() < 0.4;
	return "($known)::bigint";
}

sub condition
{
	my ($table, $t) = @_;
	my $fp = of($table, $t);
	my $q = point($table);
	my $d = one_of(-1, 0, 1, 2, 3, 3, 5, 8, 12, 20, 30, 64);
	return one_of(
		"near_dup($fp, $q, $d)", "near_dup($q, $fp, $d)", "$fp <@ hamming_ball($q, $d)",
		"$fp <@ hamming_ball($q, " . one_of(20, 26, 30) . ')',
		"$fp IS NULL", "$fp IS NOT NULL", "${t}grp < " . int(rand(20)), "${t}id % " . (2 + int(rand(5))) . ' = 1',
		compared($fp, $q, $d), "NOT near_dup($fp, $q, $d)", "${t}grp = " . int(rand(20)));
}

# A comparison of a distance with a limit, which is a filter, in any way to write it.
sub compared
{
	my ($fp, $q, $d) = @_;
	my $distance = one_of("($fp <~> $q)", "($q <~> $fp)", "hamming($fp, $q)");
	my $limit = one_of($d, $d, "$d\::bigint", "$d\::smallint", "(SELECT $d)", 'kind + ' . int(rand(5)), '-2147483648', '2147483647', 'NULL::integer', '4000000000');
	return one_of("$distance <= $limit", "$limit >= $distance", "$distance < $limit", "$limit > $distance",
		"$distance > $limit", "$limit = $distance", "$distance BETWEEN 0 AND $limit");
}

# The indexed expression of a table that the query calls by a name.
sub of
{
	my ($table, $t) = @_;
	my $fp = $fp_of{$table};
	$fp =~ s/\b(fp|a|b|body)\b/$t$1/g;
	return $fp;
}

sub where
{
	my ($table, $t) = @_;
	my @all = map {
		rand() < 0.2 ? '(' . condition($table, $t) . ' OR ' . condition($table, $t) . ')' : condition($table, $t)
	} 1 .. one_of(0, 0, 0, 1, 1, 2, 3);
	push @all, "${t}kind = 1" if $table eq 'partial' ? rand() < 0.8 : rand() < 0.1;
	push @all, of($table, $t) . ' IS NOT NULL' if $table eq 'present' and rand() < 0.8;
	return @all ? ' WHERE ' . join(' AND ', @all) : '';
}

# A query, what it orders by (the first columns of its result), whether that is
# all there is to compare (a LIMIT may cut among equals), and the query without
# the cut.
sub simple
{
	my ($table, $cut, $wanted) = @_;
	my $fp = $fp_of{$table};
	my @keys = map { [ "$fp <~> " . point($table), rand() < 0.06 ? one_of(' DESC', ' NULLS FIRST', ' DESC NULLS LAST') : '' ] }
	  1 .. one_of(0, 1, 1, 1, 1, 1, 2, 2, 3);
	splice @keys, int(rand(@keys + 1)), 0, [ 'grp', '' ] if rand() < 0.1;
	my $select = $wanted // join ', ', (map { $_->[0] } @keys), 'id';
	my $order = @keys ? ' ORDER BY ' . join(', ', map { $_->[0] . $_->[1] } @keys) : '';
	my $limit = $cut && $order ? maybe(0.6, ' LIMIT ' . one_of(0, 1, 2, 10, 10, 100, 1000, 100000)) . maybe(0.2, ' OFFSET ' . one_of(1, 5, 50, 900)) : '';
	my $all = "SELECT $select FROM $table" . where($table, '') . $order;
	return { query => "$all$limit", full => $limit ? $all : '', keys => scalar(@keys), table => $table };
}

sub draw
{
	my $table = one_of(@tables, 'plain', 'plain');
	my $form = rand();
	if ($form < 0.55) { return simple($table, 1) }
	if ($form < 0.65)
	{
		# Back and forth.
		my $drawn = simple($table, 1);
		my @moves = map { one_of('NEXT', 'PRIOR', 'FIRST', 'LAST', 'FORWARD 7', 'BACKWARD 3', 'ABSOLUTE 30', 'ABSOLUTE -2', 'RELATIVE -4', 'FORWARD ALL', 'BACKWARD ALL') } 1 .. 6;
		my $hold = one_of('', ' WITH HOLD');
		my $fetch = join '; ', map { rand() < 0.2 ? "MOVE $_ FROM c" : "FETCH $_ FROM c" } @moves;
		# Without an order, any may come.
		$drawn->{full} ||= $drawn->{query};
		$drawn->{query} = "BEGIN; DECLARE c SCROLL CURSOR$hold FOR $drawn->{query}; $fetch; CLOSE c; COMMIT";
		$drawn->{repeats} = 1;
		return $drawn->{keys} ? $drawn : draw();
	}
	if ($form < 0.72)
	{
		my ($q, $known) = (simple($table, 1), one_of(@{ $known{$table} }, 'NULL'));
		$q->{$_} =~ s/test\.flip\([^)]*\)|\(-?\d+\)::bigint/\$1/g foreach qw(query full);
		my $mode = one_of('force_generic_plan', 'force_custom_plan');
		$q->{query} = "SET plan_cache_mode = $mode; PREPARE p(bigint) AS $q->{query}; EXECUTE p($known); DEALLOCATE p; RESET plan_cache_mode";
		$q->{full} =~ s/\$1/($known)::bigint/g;
		return $q;
	}
	if ($form < 0.80)
	{
		my ($a, $b) = (simple($table, 0, 'id'), simple($table, 0, 'id'));
		return { query => "SELECT id FROM ((SELECT id, kind, $fp_of{$table} AS fp FROM $table) UNION ALL (SELECT -id, kind, fp FROM plain)) s WHERE "
				. compared('s.fp', point($table), one_of(0, 2, 5, 8, 30)), keys => 0 } if rand() < 0.3;
		return { query => "($a->{query}) " . one_of('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT') . " ($b->{query})", keys => 0 };
	}
	my ($other, $k, $d) = (one_of(@tables), one_of(1, 3, 20), one_of(0, 2, 3, 5));
	my ($fp, $outer) = (of($table, 'x.'), of($other, 'o.'));
	my $few = "o.id % " . one_of(97, 211) . ' = 0';
	if ($form < 0.85)
	{
		my $inner = "SELECT x.id, $fp <~> $outer AS d FROM $table x" . where($table, 'x.') . " ORDER BY $fp <~> $outer";
		my $join = "FROM $other o " . one_of('CROSS JOIN LATERAL', 'LEFT JOIN LATERAL');
		my $on = $join =~ /LEFT/ ? ' ON true' : '';
		return { query => "SELECT o.id, n.d, n.id $join ($inner LIMIT $k) n$on WHERE $few ORDER BY 1, 2",
			full => "SELECT o.id, n.d, n.id $join ($inner) n$on WHERE $few ORDER BY 1, 2", keys => 2 };
	}
	if ($form < 0.90)
	{
		my $kind = one_of('JOIN', 'LEFT JOIN', 'RIGHT JOIN');
		$kind = 'LEFT JOIN' if $kind eq 'RIGHT JOIN' and rand() < 0.7;
		my $near = one_of("near_dup($outer, $fp, $d)", compared($outer, $fp, $d) =~ s/\bkind\b/x.kind/r);
		return { query => "SELECT o.id, x.id FROM $other o $kind $table x ON $near AND x.id % 11 < 3 WHERE $few", keys => 0 };
	}
	if ($form < 0.94)
	{
		my $q = one_of('EXISTS', 'NOT EXISTS');
		return { query => "SELECT o.id FROM $other o WHERE o.id < 300 AND $q (SELECT FROM $table x WHERE " . one_of("$fp <@ hamming_ball($outer, $d)", "hamming($outer, $fp) <= $d") . " AND x.id <> o.id)", keys => 0 };
	}
	my $q = point($table);
	my $order = "$fp_of{$table} <~> $q";
	return { query => one_of(
			"SELECT count(*), count(d), sum(d) FROM (SELECT id, $order AS d FROM $table" . where($table, '') . " ORDER BY $order) s",
			"SELECT DISTINCT $order FROM $table ORDER BY $order",
			"SELECT r, d FROM (SELECT row_number() OVER (ORDER BY $order) AS r, $order AS d FROM $table) s",
			"SELECT o.id, x.id FROM $table x JOIN $other o ON ($fp <~> $q) = o.grp AND o.id % 9 = 0 AND x.id % 9 = 1",
			"SELECT (SELECT $order FROM $table ORDER BY $order LIMIT 1 OFFSET 3)"), keys => 0 };
}

# Changes between queries: fingerprints that come, go and change, rows that
# move or stay with their neighbours, and what VACUUM leaves.
sub change
{
	my $table = one_of('plain', 'strict', 'partial', 'present', 'parted');
	my ($k, $m) = (20 + int(rand(20)), int(rand(20)));
	my $new = $table eq 'strict' ? 'test.flip(fp, 3, id)' : one_of('NULL', 'test.flip(fp, 2, id)', "coalesce(fp, test.random_fp(id))");
	return one_of(
		"UPDATE $table SET fp = $new WHERE id % $k = $m", "UPDATE $table SET grp = grp + 1 WHERE id % $k = $m",
		"UPDATE $table SET kind = (kind + 1) % 3 WHERE id % $k = $m",
		"DELETE FROM $table WHERE id % 40 = $m",
		"INSERT INTO $table SELECT id + 100000, grp, kind, " . ($table eq 'strict' ? 'fp' : 'nullif(fp, 4711)') . " FROM $table WHERE id % 40 = $m",
		"VACUUM $table", "ANALYZE $table", "UPDATE worded SET body = CASE WHEN body = '' THEN 'light out ' || id ELSE '' END WHERE id % $k = $m",
		"UPDATE computed SET a = " . one_of('NULL', 'b', "coalesce(a, id)") . " WHERE id % $k = $m");
}

my %modes = (
	'index scans' => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off',
	'index scans and merge joins' => 'SET enable_seqscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_nestloop = off',
	'bitmap scans' => 'SET enable_seqscan = off; SET enable_indexscan = off',
	'ordered scans' => 'SET enable_sort = off',
	'the default plan' => 'RESET enable_seqscan');
my $truth = 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off';

# One script for all, for one session; what each part of it has printed stands
# behind a line that names it.
my (@drawn, $script);
$script = "SET max_parallel_workers_per_gather = 0;\n";
for my $i (0 .. $queries - 1)
{
	$script .= 'RESET ALL; ' . change() . ";\n" if $i % 10 == 9;
	my $drawn = draw();
	$drawn->{modes} = [ one_of('index scans', 'index scans and merge joins'), one_of('bitmap scans', 'ordered scans', 'the default plan') ];
	my $open = rand() < 0.1 && $drawn->{query} !~ /BEGIN/ ? 1 : 0;
	my $part = sub {
		my ($name, $settings, $query) = @_;
		$script .= "\\echo #$i $name\nRESET ALL; SET jit = off; $settings;\n$query;\n";
	};
	my $uncommitted = change();
	$script .= "BEGIN; $uncommitted;\n" if $open and $uncommitted !~ /VACUUM/;
	$part->('truth', $truth, $drawn->{query});
	$part->('full', $truth, $drawn->{full}) if $drawn->{full};
	$part->($_, $modes{$_}, $drawn->{query}) foreach @{ $drawn->{modes} };
	(my $explained = $drawn->{query}) =~ s/^BEGIN; DECLARE c SCROLL CURSOR( WITH HOLD)? FOR (.*?); (FETCH|MOVE).*$/$2/s;
	$part->('plan', $modes{ $drawn->{modes}[0] }, "EXPLAIN (COSTS OFF) $explained") if $explained !~ /PREPARE/;
	$script .= "ROLLBACK;\n" if $open and $uncommitted !~ /VACUUM/;
	push @drawn, $drawn;
}
my $file = "$PostgreSQL::Test::Utils::tmp_check/plans_agree.sql";
open my $handle, '>', $file or die "$file: $!";
print $handle $script;
close $handle;
my ($out, $err) = ('', '');
IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err);
is($err, '', "DEDUP_TEST_SEED=$seed: no query fails");

my (@printed, $lines);
foreach my $line (split /\n/, $out)
{
	if ($line =~ /^#(\d+) (.*)$/) { $lines = $printed[$1]{$2} = [] }
	else { push @$lines, $line }
}

# What is wrong with an answer, or nothing.
sub wrong
{
	my ($drawn, $truth, $full, $answer) = @_;
	my $keys = $drawn->{keys};
	my $key = sub { return [ map { join '|', (split /\|/, $_, -1)[ 0 .. $keys - 1 ] } @{ $_[0] } ] };
	my $sorted = sub { return join "\n", sort @{ $_[0] } };
	return 'not the same rows' if !$full && $sorted->($truth) ne $sorted->($answer);
	return 'not the same order' if $keys && join("\n", @{ $key->($truth) }) ne join("\n", @{ $key->($answer) });
	return '' if !$full;
	my %left;
	$left{$_}++ foreach @$full;
	foreach my $row (@$answer)
	{
		return "row $row, which is none" if !exists $left{$row};
		return "row $row twice" if --$left{$row} < 0 && !$drawn->{repeats};
	}
	return '';
}

my ($compared, @wrong, %used) = (0);
foreach my $i (0 .. $#drawn)
{
	my ($drawn, $printed) = ($drawn[$i], $printed[$i]);
	foreach my $mode (@{ $drawn->{modes} })
	{
		$compared++;
		my $wrong = wrong($drawn, $printed->{truth}, $printed->{full}, $printed->{$mode}) or next;
		push @wrong, "$mode: $wrong (" . @{ $printed->{$mode} } . ' rows, should be ' . @{ $printed->{truth} } . "): query $i: $drawn->{query}";
	}
	my $plan = join "\n", @{ $printed->{plan} // [] };
	$used{order}++ if $plan =~ /Order By: /;
	$used{orders}++ if $plan =~ /Order By: .*<~>.*<~>/;
	$used{condition}++ if $plan =~ /Index Cond: .*(<@|=~)/;
}
is(join("\n", @wrong > 10 ? @wrong[ 0 .. 9 ] : @wrong), '', "DEDUP_TEST_SEED=$seed: all $compared answers are those of sequential scans");
cmp_ok($used{$_} // 0, '>', $queries / 100, "indexes have been used: $_") foreach qw(order orders condition);

log_is_clean($node, 'plans_agree');
$node->stop;
done_testing();
