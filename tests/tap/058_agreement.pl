# Protects that there is one verdict on two rows, whoever gives it: for random tables and random settings, what dedup, dedup_clean,
# dedup_find, dedup_into, near_dup_pairs, the guard and the report say of a pair is the same; and that after any history of inserts,
# updates and deletes dedup_into has each row with a kept one that it repeats, and no two kept rows that repeat each other, or, where it
# writes the groups anew, the groups of dedup; whether it compares or follows its source. What people have decided of two rows stands
# over all that, also of rows that are gone.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = test_seed();
my $node = new_node('agreement', conf => "max_parallel_workers_per_gather = 0\nclient_min_messages = warning\n");

sub one_of { return $_[ int rand @_ ]; }

my @english = map { my $first = $_; map { "$first$_" } qw(ter lamp den noise pa let of bill win ket) } qw(wa street bus gar bridge per rent doc mar po);
my @chinese = map { my $c = chr(0x4E00 + 7 * $_); utf8::encode($c); $c } 1 .. 600;
my @forms = ('No water in A Street since N May', 'The lift in A Court number N is broken', 'A公司拖欠工资N个月', 'A小区停水N天了什么时候恢复', 'order N of A has not arrived');
my @names = qw(Harbour Mill Ashford 翠湖春天 金桂嘉园 鑫拓 K3);

# A world draws its texts from few words, so that rows repeat each other; a text is new, or an earlier one changed.
sub texts_of
{
	my ($from, $join, $length) = @{ one_of([ \@english, ' ', 6 ], [ \@english, ' ', 50 ], [ \@chinese, '', 12 ], [ \@chinese, '', 120 ], [ \@forms, '', 1 ]) };
	my @earlier;
	return sub {
		return one_of('NULL', "''", "'…'", "'?!'", "'😀'", "'　'") if rand() < 0.05;
		my @text;
		if ($length == 1)
		{
			my ($name, $number) = (one_of(@names), one_of(qw(3 三 5 12 12 7)));
			@text = one_of(@forms) =~ s/\bA\b|A(?=[^ -~])/$name/r =~ s/\bN\b|N(?=[^ -~])/$number/r;
			unshift @text, one_of('请问', 'Hi, ') if rand() < 0.3;
		}
		elsif (@earlier && rand() < 0.65)
		{
			@text = @{ one_of(@earlier) };
			splice @text, int rand @text, int rand 2, map { one_of(@$from) } 1 .. int rand 3 for 1 .. int rand(1 + @text / 8);
			@text = one_of(@$from) unless @text;
		}
		else { @text = map { one_of(@$from) } 1 .. 1 + $length * (0.6 + rand 0.8); }
		push @earlier, [@text];
		my $text = join $join, @text;
		$text = uc $text if rand() < 0.05;
		return "'$text" . one_of('', '', '', '!', ' ', '<b>') . "'";
	};
}

# People and firms: few names, so that some are of one thing and some only seem to be.
sub records_of
{
	my @earlier;
	return sub {
		my @row = (one_of(@english) . ' ' . one_of(@english), one_of(@english, @chinese) . ' ' . int rand 90);
		@row = @{ one_of(@earlier) } if @earlier && rand() < 0.5;
		push @earlier, [@row];
		$row[ int rand 2 ] =~ s/([a-z])([a-z])/$2$1/ if rand() < 0.3;
		$row[ int rand 2 ] = '' if rand() < 0.05;
		return join ', ', map { rand() < 0.03 ? 'NULL' : "'$_'" } @row;
	};
}

sub settings_of
{
	my ($columns) = @_;
	return '{"columns": ["a", "b"], "method": "records"' . one_of('', '', ', "similarity": 0.5') . '}' if $columns eq 'records';
	my @options = ('"columns": ' . ($columns == 1 ? '"a"' : one_of('["a", "b"]', '["b", "a"]', '{"a": 2, "b": 1}', '{"a": null, "b": 20}')));
	my $method = $options[0] =~ /null/ ? 'fingerprint' : one_of('', 'text', 'fingerprint', 'fingerprint');
	push @options, qq("method": "$method") if $method;
	push @options, '"distance": ' . int rand 16 if $method eq 'fingerprint' && rand() < 0.7;
	push @options, '"similarity": ' . one_of(0.3, 0.5, 0.5, 0.8, 1) if rand() < 0.5;
	push @options, '"n": ' . one_of(1, 2, 3) if rand() < 0.4;
	push @options, '"details": ' . one_of('[]', '["name"]', '["name", "date", "number"]', '["slot"]', '["name", "slot"]') if rand() < 0.6;
	return '{' . join(', ', @options) . '}';
}

my $worlds = rows(8);
my $repeats = 0;
for my $world (1 .. $worlds)
{
	my $columns = $world % 4 == 0 ? 'records' : one_of(1, 1, 2);
	my $settings = settings_of($columns);
	my $text = texts_of();
	my $row = $columns eq 'records' ? records_of() : sub { return join ', ', $text->(), $columns == 2 ? $text->() : 'NULL' };
	my $t = "t$world";
	my $next = 1;
	my $insert = sub { return "INSERT INTO $t VALUES " . join(', ', map { '(' . $next++ . ', ' . $row->() . ')' } 1 .. $_[0]) . ';' };
	my $what = "world $world, $settings, seed $seed";
	$node->safe_psql('postgres', "CREATE TABLE $t (id bigint PRIMARY KEY, a text, b text); " . $insert->(70) . " SELECT dedup_setup('$t', '$settings')");

	# The verdicts: which rows each row repeats.
	my $find = sub { return "CREATE TEMP TABLE v AS SELECT t.id AS a, f.id AS b, f.similarity FROM $t t, dedup_find(t) f;" };
	my $verdicts = $find->();
	my $is = sub { my ($query, $expected, $name) = @_; is(scalar_of($node, "$verdicts $query") =~ s/.*\n//sr, $expected, "$name: $what"); };
	$repeats += scalar_of($node, "$verdicts SELECT count(*) FROM v") =~ s/.*\n//sr;
	$is->('SELECT count(*) FROM v WHERE NOT EXISTS (SELECT FROM v o WHERE (o.a, o.b) = (v.b, v.a))', 0, 'each finds the other');
	for my $keep ('"first"', '"last"', '"longest"')
	{
		my $star = "CREATE TEMP TABLE d AS SELECT * FROM dedup('$t', '{\"keep\": $keep}');";
		$is->("$star SELECT string_agg(concat_ws('>', id, keeper, stage), ' ') FROM d WHERE stage IN ('exact', 'near') AND (id, keeper) NOT IN (SELECT a, b FROM v)", '', "dedup keeps $keep, what a row repeats");
		$is->("$star SELECT string_agg(concat_ws('=', a, b), ' ') FROM v JOIN d x ON x.id = a JOIN d y ON y.id = b WHERE x.stage = 'kept' AND y.stage = 'kept'", '', "dedup keeps $keep, what is kept");
	}
	$is->("SELECT count(*) FROM (SELECT id, keeper, stage, distance, similarity FROM dedup('$t') WHERE stage IN ('exact', 'near')) d FULL JOIN dedup_clean('$t') c USING (id)
		WHERE (d.keeper, d.stage, d.distance, d.similarity) IS DISTINCT FROM (c.keeper, c.stage, c.distance, c.similarity)", 0, 'dedup_clean');
	$is->("SELECT count(*) FROM (SELECT id, min(id) OVER (PARTITION BY keeper) AS least FROM dedup('$t', '{\"group\": \"components\"}') WHERE stage <> 'empty') c
		FULL JOIN (SELECT id, component AS least FROM near_dup_groups('SELECT a, b FROM v')) s USING (id) WHERE c.least IS DISTINCT FROM coalesce(s.least, c.id)", 0, 'components of the verdicts');
	# Row by row past the guard: what dedup keeps. (Texts without letters are equal at most, and no guard looks at them.)
	my $compared = $settings =~ /null/ ? 'd.a' : 'concat(d.a, d.b)';
	for my $action ('AFTER', 'BEFORE')
	{
		is($node->safe_psql('postgres', "CREATE TEMP TABLE d AS SELECT t.id, a, b, stage FROM $t t JOIN dedup('$t') d ON t.id = d.id;
			BEGIN; TRUNCATE $t; CREATE TRIGGER g $action INSERT ON $t FOR EACH ROW EXECUTE FUNCTION near_dup_guard(" . ($action eq 'AFTER' ? '' : "'action=skip'") . ");
			DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT id, a, b FROM d ORDER BY id LOOP
				BEGIN INSERT INTO $t (id, a, b) VALUES (r.id, r.a, r.b); EXCEPTION WHEN exclusion_violation THEN NULL; END; END LOOP; END \$\$;
			SELECT string_agg(concat_ws(' ', d.id, d.stage, t.id), ', ') FROM d LEFT JOIN $t t USING (id) WHERE translate($compared, '…?!😀　', '') <> '' AND (stage = 'kept') <> (t.id IS NOT NULL);
			ROLLBACK"), '', "the guard $action: $what");
	}

	# Histories of dedup_into, by both rules.
	for my $turn (0 .. 4)
	{
		my $change = '';
		if ($turn > 0)
		{
			$change .= one_of($insert->(4), $insert->(1), "UPDATE $t SET a = " . $text->() . " WHERE id IN (SELECT id FROM $t ORDER BY md5(id || '$turn') LIMIT 3);",
				"UPDATE $t SET a = (SELECT a FROM $t ORDER BY md5(id || 'x$turn') LIMIT 1) WHERE id % 7 = $turn;",
				"DELETE FROM $t WHERE id IN (SELECT keeper FROM star_$t ORDER BY md5(id || '$turn') LIMIT 3);", "DELETE FROM $t WHERE id % 9 = $turn;",
				"DELETE FROM $t WHERE id = (SELECT min(id) FROM $t); " . $insert->(1), "UPDATE $t SET id = id + 100000 WHERE id % 11 = $turn;") for 1 .. 1 + int rand 3;
			$change .= "TRUNCATE $t; " . $insert->(20) if rand() < 0.05;
			# What the rows have in common is learned anew.
			$change .= "SELECT dedup_setup('$t');" if rand() < 0.2;
		}
		$node->safe_psql('postgres', "$change CALL dedup_into('star_$t', '$t'); CALL dedup_into('follow_$t', '$t', '{\"follow\": true}'); CALL dedup_into('whole_$t', '$t', '{\"group\": \"components\"}')");
		for my $result ("star_$t", "follow_$t", "whole_$t")
		{
			$is->("SELECT count(*) FROM $t FULL JOIN $result USING (id) WHERE $t.* IS NULL OR stage IS NULL", 0, "$result has the rows of its source, turn $turn");
			$is->("SELECT string_agg(id::text, ' ') FROM $result r WHERE NOT EXISTS (SELECT FROM $result k WHERE k.id = r.keeper AND k.cluster = r.cluster AND k.stage IN ('kept', 'empty'))", '', "$result has its kept rows, turn $turn");
		}
		for my $result ("star_$t", "follow_$t")
		{
			$is->("SELECT string_agg(concat_ws('>', id, keeper, stage), ' ') FROM $result WHERE stage IN ('exact', 'near') AND (id, keeper) NOT IN (SELECT a, b FROM v)", '', "$result, what a row repeats, turn $turn");
			$is->("SELECT string_agg(concat_ws('=', a, b), ' ') FROM v JOIN $result x ON x.id = a JOIN $result y ON y.id = b WHERE x.stage = 'kept' AND y.stage = 'kept'", '', "$result, what is kept, turn $turn");
		}
		$is->("SELECT string_agg(concat_ws(' ', c.id, c.least, s.least), ', ') FROM (SELECT id, min(id) OVER (PARTITION BY cluster) AS least FROM whole_$t WHERE stage <> 'empty') c
			FULL JOIN (SELECT id, min(id) OVER (PARTITION BY keeper) AS least FROM dedup('$t', '{\"group\": \"components\"}') WHERE stage <> 'empty') s USING (id) WHERE c.least IS DISTINCT FROM s.least", '', "groups written anew, turn $turn");
	}

	# What people decide, of near rows and of any, of rows that are there and of some that are not.
	my $says = sub { my ($query, $name) = @_; is(scalar_of($node, $query) =~ s/.*\n//sr, '', "$name: $what"); };
	$node->safe_psql('postgres', "SELECT dedup_setup('$t', '{\"decisions\": true}')");
	for my $turn (1 .. 3)
	{
		my $of = sub { return "(SELECT id FROM $t ORDER BY md5(id || '$turn' || $_[0]) LIMIT 1)"; };
		my $decide = join ' ', map {
			my $pair = one_of('v.a, v.b', 'v.a, v.b', 'v.a, ' . $of->($_), "v.a, 900 + v.a % 3");
			"BEGIN INSERT INTO ${t}_decisions SELECT $pair, " . one_of('true', 'false') . " FROM v ORDER BY md5(v.a || '$turn' || v.b || $_) LIMIT 1;
				EXCEPTION WHEN check_violation OR unique_violation THEN NULL; END;"
		} 1 .. 6;
		$node->safe_psql('postgres', "$verdicts DELETE FROM ${t}_decisions WHERE (a + b + $turn) % 5 = 0; DO \$\$ BEGIN $decide END \$\$; " . one_of('', $insert->(2), "DELETE FROM $t WHERE id IN (SELECT a FROM ${t}_decisions WHERE b % 3 = 0);")
			. "CALL dedup_into('star_$t', '$t'); CALL dedup_into('follow_$t', '$t', '{\"follow\": true}'); CALL dedup_into('whole_$t', '$t', '{\"group\": \"components\"}')");
		my $decided = "CREATE TEMP TABLE s AS WITH RECURSIVE s(a, b, same) AS (SELECT id, id, true FROM (SELECT a AS id FROM ${t}_decisions UNION SELECT b FROM ${t}_decisions) i UNION
			SELECT s.a, CASE WHEN d.a = s.b THEN d.b ELSE d.a END, s.same AND d.same FROM s JOIN ${t}_decisions d ON (d.a = s.b OR d.b = s.b) AND (s.same OR d.same))
			SELECT s.* FROM s JOIN $t x ON x.id = s.a JOIN $t y ON y.id = s.b WHERE s.a <> s.b;";
		for my $of (["dedup('$t')", 'keeper', 'dedup'], ["dedup('$t', '{\"group\": \"components\"}')", 'keeper', 'components'], (map { [$_, 'cluster', $_] } "star_$t", "follow_$t", "whole_$t"))
		{
			my ($groups, $group, $name) = @$of;
			$says->("$decided CREATE TEMP TABLE g AS SELECT id, $group AS g FROM $groups; SELECT string_agg(concat_ws(' ', a, b, same), ', ') FROM s JOIN g x ON x.id = a JOIN g y ON y.id = b WHERE (x.g = y.g) <> same", "$name obeys, turn $turn");
		}
		for my $of (['star', '{}'], ['follow', '{}'], ['whole', '{"group": "components"}'])
		{
			$says->("SELECT string_agg(concat_ws(' ', r.id, r.stage, d.stage), ', ') FROM $of->[0]_$t r FULL JOIN dedup('$t', '$of->[1]') d USING (id) WHERE EXISTS (SELECT FROM ${t}_decisions) AND (r.keeper, r.stage) IS DISTINCT FROM (d.keeper, d.stage)", "$of->[0] is as dedup, turn $turn");
		}
		$says->("$decided CREATE TEMP TABLE p AS SELECT t.id AS a, f.id AS b, f.decided FROM $t t, dedup_find(t) f;
			SELECT string_agg(concat_ws(' ', a, b, s.same, p.decided), ', ') FROM p FULL JOIN s USING (a, b) WHERE s.same AND p.decided IS NOT TRUE OR NOT s.same AND p.a IS NOT NULL OR s.a IS NULL AND p.decided IS NOT NULL", "dedup_find obeys, turn $turn");
		$says->("$decided CREATE TEMP TABLE e AS SELECT * FROM dedup_explain('$t', 'SELECT a, b FROM s', NULL); SELECT string_agg(concat_ws(' ', a, b, part), ', ') FROM s JOIN e USING (a, b) WHERE e.part LIKE 'decided%' AND (e.part = 'decided the same') <> s.same OR e.part = CASE WHEN s.same THEN 'two groups' ELSE 'one group' END", "dedup_explain obeys, turn $turn");
		my ($a, $b) = split /\|/, scalar_of($node, "$decided SELECT a, b FROM s WHERE NOT same ORDER BY a, b LIMIT 1") =~ s/.*\n//sr;
		next if !$b;
		is($node->safe_psql('postgres', "BEGIN; CREATE TEMP TABLE r AS SELECT id, a, b FROM $t WHERE id IN ($a, $b); TRUNCATE $t; CREATE TRIGGER g AFTER INSERT ON $t FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
			INSERT INTO $t (id, a, b) SELECT id, a, b FROM r ORDER BY id; SELECT count(*) FROM $t; ROLLBACK"), 2, "the guard obeys, turn $turn: $what");
	}
}
cmp_ok($repeats, '>', 60 * $worlds, 'there was something to judge');
log_is_clean($node, 'agreement');
done_testing();
