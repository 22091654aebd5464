# Protects that one row at a time is told what a pass over the whole table tells: for random tables of short and long texts,
# in English and Chinese, of one column and of two, and of series of titles, what dedup_setup chooses leads dedup, dedup_clean,
# dedup_find, dedup_into and the guard to the same duplicates, with the index and without, for ordinary roles and under row-level
# security; that a text without a word or symbol is empty for each of them and repeats nothing, and one of symbols only itself; and
# that writers at once get no similar short texts past the guard.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = test_seed();
my $node = new_node('one_way', conf => "max_parallel_workers_per_gather = 0\nclient_min_messages = warning\n");

my @syllables = qw(wa ter street lamp bus school gar den noise bridge pa per let ter of rent bill doc tor win mar ket tree po lice);
my @english = map { my $first = $_; map { "$first$_" } @syllables } @syllables;
my @chinese = map { my $c = chr(0x4E00 + 7 * $_); utf8::encode($c); $c } 1 .. 1000;

sub words
{
	my ($from, $n) = @_;
	return map { $from->[ int rand @$from ] } 1 .. $n;
}

# A text, or an earlier one with some words changed, dropped or added, or in capitals.
sub text
{
	my ($earlier, $from, $length, $join) = @_;
	my @text = words($from, int($length * (0.6 + rand 0.8)) + 1);
	if (@$earlier && rand() < 0.6)
	{
		@text = @{ $earlier->[ int rand @$earlier ] };
		for (1 .. int rand 4)
		{
			my $at = int rand @text;
			splice @text, $at, int rand 2, words($from, int rand 2);
			@text = words($from, 3) unless @text;
		}
	}
	push @$earlier, [@text];
	my $text = join $join, @text;
	$text = uc $text if rand() < 0.1;
	$text .= ' ' . join $join, words($from, 2) if rand() < 0.1;
	return $text;
}

# A title of a series: of few forms with few names and numbers, which decide.
sub title
{
	my @of = (
		[ 'How do I get from A to B by bus N', 'No water in A Street since N May', 'The lift in A Court number N is broken', 'A公司拖欠工资N个月', '如何评价A队对阵B队的比赛', 'A小区停水N天了什么时候恢复' ],
		[ qw(Harbour Mill Ashford Wexcombe 翠湖春天 金桂嘉园 银桂嘉园 鑫拓 博衍 K3) ],
		[ qw(Leeds York 红星 蓝月) ],
		[ qw(3 三 5 十二 12 7) ]);
	my ($title, $a, $b, $n) = map { $_->[ int rand @$_ ] } @of;
	my %fill = (A => $a, B => $b, N => $n);
	$title =~ s/(?<![A-Za-z])([ABN])(?![A-Za-z])/$fill{$1}/g;
	return ('', '', '请问', 'Hi, ')[ int rand 4 ] . $title . ('', '', '?', '！', ' please', '，急')[ int rand 6 ];
}

my %shapes = (
	series => [ [], 0, '', 1 ],
	short_english => [ \@english, 8, ' ', 1 ],
	short_chinese => [ \@chinese, 14, '', 1 ],
	long_english => [ \@english, 60, ' ', 1 ],
	long_chinese => [ \@chinese, 150, '', 1 ],
	two_columns => [ \@english, 5, ' ', 2 ]);
for my $shape (sort keys %shapes)
{
	my $rows = rows($shape =~ /long/ ? 80 : 160);
	my ($from, $length, $join, $columns) = @{ $shapes{$shape} };
	my (@earlier, @values);
	for my $id (1 .. $rows)
	{
		my @texts = map { my $text = @$from ? text(\@earlier, $from, $length, $join) : title(); "'$text'" } 1 .. $columns;
		$texts[0] = ('NULL', "''", "'…'", "'?!'", "'😀'")[ int rand 5 ] if rand() < 0.06;
		push @values, "($id, " . join(', ', @texts, ('NULL') x (2 - $columns)) . ')';
	}
	my $text = $columns == 1 ? 'a' : "CASE WHEN num_nonnulls(a, b) > 0 THEN concat_ws(E'\\n', a, b) END";
	$node->safe_psql('postgres', "CREATE TABLE $shape (id bigint PRIMARY KEY, a text, b text); INSERT INTO $shape VALUES " . join ',', @values);
	my $names = $columns == 1 ? '"a"' : '["a", "b"]';
	my $method = scalar_of($node, "SELECT dedup_setup('$shape', '{\"columns\": $names}'); SELECT method FROM dedup_settings WHERE tbl = '$shape'::regclass");
	$method =~ s/.*\n//s;
	is($method, $shape =~ /long/ ? 'fingerprint' : 'text', "$shape: how it is compared");
	# (The fingerprints of two columns are others than those of their text.)
	my $answer = "SELECT md5(string_agg(concat_ws(' ', id, keeper, stage, similarity), ',' ORDER BY id))";
	is(scalar_of($node, "$answer FROM dedup('SELECT id, " . ($text =~ s/'/''/gr) . " FROM $shape ORDER BY id') d"), scalar_of($node, "$answer FROM dedup('$shape') d"),
		"$shape: settings are what dedup chooses without them");
	is(scalar_of($node, "$answer FROM dedup_clean('$shape') d"), scalar_of($node, "$answer FROM dedup('$shape') d WHERE stage IN ('exact', 'near')"), "$shape: dedup_clean");
	my %single;
	for my $plan ('enable_indexscan = off; SET enable_bitmapscan = off', 'enable_seqscan = off')
	{
		$single{$plan} = scalar_of($node, "SET $plan; CREATE TEMP TABLE single AS SELECT t.id AS a, f.id AS b, f.similarity FROM $shape t, dedup_find(t) f;
			SELECT count(*) || ' ' || md5(string_agg(concat_ws(' ', a, b, similarity), ',' ORDER BY a, b)) FROM single");
	}
	is((values %single)[0], (values %single)[1], "$shape: with the index and without");
	$node->safe_psql('postgres', "CREATE TABLE single_$shape AS SELECT t.id AS a, f.id AS b FROM $shape t, dedup_find(t) f;
		CREATE TABLE star_$shape AS SELECT * FROM dedup('$shape')");
	cmp_ok(scalar_of($node, "SELECT count(*) FROM single_$shape"), '>', $rows / 4, "$shape: there is something to find");
	is(scalar_of($node, "SELECT count(*) FROM single_$shape s WHERE NOT EXISTS (SELECT FROM single_$shape o WHERE (o.a, o.b) = (s.b, s.a))"), 0, "$shape: each finds the other");
	is(scalar_of($node, "SELECT string_agg(id::text, ' ') FROM star_$shape WHERE stage IN ('exact', 'near') AND (id, keeper) NOT IN (SELECT a, b FROM single_$shape)"), '',
		"$shape: each duplicate of the pass finds the row that is kept");
	is(scalar_of($node, "SELECT string_agg(concat_ws('=', a, b), ' ') FROM single_$shape
		WHERE a IN (SELECT id FROM star_$shape WHERE stage = 'kept') AND b IN (SELECT id FROM star_$shape WHERE stage = 'kept')"), '', "$shape: rows that are kept do not find each other");
	is(scalar_of($node, "SELECT count(*) FROM (SELECT d.id, min(d.id) OVER (PARTITION BY d.keeper) AS least FROM dedup('$shape', '{\"group\": \"components\"}') d WHERE stage <> 'empty') c
			FULL JOIN (SELECT id, component AS least FROM near_dup_groups('SELECT a, b FROM single_$shape')) s USING (id)
			WHERE c.least IS DISTINCT FROM coalesce(s.least, c.id)"), 0, "$shape: the pairs of all single searches are those of the pass");
	# The text of a row finds what the row finds, and the row.
	is(scalar_of($node, "SELECT count(*) FROM $shape t WHERE ARRAY(SELECT f.id FROM dedup_find('$shape', t.a) f ORDER BY 1)
		IS DISTINCT FROM ARRAY(SELECT t.id WHERE translate(t.a, '…?!', '') <> '' UNION SELECT b FROM single_$shape WHERE a = t.id ORDER BY 1)"), 0, "$shape: by the text alone") if $columns == 1;
	# What has neither word nor symbol is empty, whoever looks.
	my $empty = "translate(concat(a, b), '…?!', '') = ''";
	is(scalar_of($node, "SELECT count(*) FROM $shape JOIN star_$shape USING (id) WHERE ($empty) <> (stage = 'empty')"), 0, "$shape: what is empty");
	is(scalar_of($node, "SELECT count(*) FROM $shape JOIN single_$shape ON id IN (single_$shape.a, single_$shape.b) WHERE " . ($empty =~ s/\ba, b\b/$shape.a, $shape.b/r)), 0, "$shape: … finds nothing and is not found");
	is(scalar_of($node, "CALL dedup_into('into_$shape', '$shape'); SELECT count(*) FROM into_$shape i FULL JOIN star_$shape s USING (id) WHERE (i.keeper, i.stage) IS DISTINCT FROM (s.keeper, s.stage)"), 0, "$shape: dedup_into");
	# Row by row past the guard: what the pass keeps. (Texts without letters are equal at most, and no guard looks at them.)
	my $settings = scalar_of($node, "SELECT jsonb_build_object('columns', columns, 'method', method, 'recipe', recipes -> 0, 'similarity', similarity, 'n', n, 'details', details)
		|| CASE method WHEN 'text' THEN '{}' ELSE jsonb_build_object('distance', distance) END FROM dedup_settings WHERE tbl = '$shape'::regclass");
	for my $action ('AFTER', 'BEFORE')
	{
		my $result = $node->safe_psql('postgres', "CREATE TABLE guarded (id bigint PRIMARY KEY, a text, b text);
			-- What the rows have in common is learned from all of them.
			INSERT INTO guarded SELECT id, a, b FROM $shape;
			SELECT count(*) FROM dedup_setup('guarded', '$settings');
			DELETE FROM guarded;
			CREATE TRIGGER g $action INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard(" . ($action eq 'AFTER' ? '' : "'action=skip'") . ");
			DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT * FROM $shape ORDER BY id LOOP
				BEGIN INSERT INTO guarded (id, a, b) VALUES (r.id, r.a, r.b); EXCEPTION WHEN exclusion_violation THEN NULL; END; END LOOP; END \$\$;
			SELECT count(*) FROM guarded g FULL JOIN (SELECT id FROM star_$shape WHERE stage = 'kept') s USING (id)
				JOIN $shape t USING (id) WHERE coalesce(t.a, '') || coalesce(t.b, '') ~ '\\w' AND (g.id IS NULL OR s.id IS NULL)
					OR g.id IS NULL AND " . ($empty =~ s/\ba, b\b/t.a, t.b/r) . ";
			DROP TABLE guarded");
		like($result, qr/\n0\z/, "$shape: what passes the guard, $action, is what the pass keeps");
	}
}

# A table that has grown: the distance that was chosen narrows, for all calls alike.
$node->safe_psql('postgres', q{
	CREATE FUNCTION complaint(seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$ SELECT string_agg(left(md5((hashint8extended(seed, k) % 400)::text), 4 + k % 5), ' ') FROM generate_series(1, 25) k $$;
	CREATE TABLE grown (id bigint PRIMARY KEY, body text);
	INSERT INTO grown SELECT i, complaint(i) FROM generate_series(1, 200) i;
	SELECT dedup_setup('grown')});
my $now = "SELECT max(bits::int) FROM dedup_settings, jsonb_each(distances) AS d(bits, most)
	WHERE tbl = 'grown'::regclass AND (most = 'null' OR most::bigint >= (SELECT count(*) FROM grown))";
my $guarded = "CREATE TRIGGER g AFTER INSERT ON grown FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
	INSERT INTO grown SELECT 0, body FROM grown WHERE id = 1";
my $few = scalar_of($node, $now);
is($few, scalar_of($node, "SELECT distance FROM dedup_settings WHERE tbl = 'grown'::regclass"), 'the distance of few rows');
my (undef, undef, $error) = $node->psql('postgres', $guarded);
like($error, qr/no two rows within distance $few\b/, '… is that of the guard');
$node->safe_psql('postgres', "DROP TRIGGER g ON grown; INSERT INTO grown SELECT i, complaint(i) || CASE WHEN i % 3 = 0 THEN '' ELSE ' again' END
		FROM generate_series(1001, 20000) n, LATERAL (SELECT n) AS s(i); VACUUM ANALYZE grown");
my $many = scalar_of($node, $now);
cmp_ok($many, '<', $few, 'that of many is narrower');
(undef, undef, $error) = $node->psql('postgres', $guarded);
like($error, qr/no two rows within distance $many\b/, '… in the guard');
$node->safe_psql('postgres', 'DROP TRIGGER g ON grown');
my $asked = "SELECT jsonb_build_object('distance', $many, 'method', method, 'recipe', recipes -> 0, 'similarity', similarity, 'n', n, 'details', details)
	FROM dedup_settings WHERE tbl = 'grown'::regclass";
my $digest = "SELECT md5(string_agg(concat_ws(' ', id, keeper, stage, similarity), ',' ORDER BY id))";
is(scalar_of($node, "$digest FROM dedup('grown') d"),
	scalar_of($node, "$digest FROM dedup('SELECT id, body FROM grown ORDER BY id', (" . ($asked =~ s/\s+/ /gr) . ")) d"), '… in dedup');
is(scalar_of($node, "SELECT count(*) FROM grown t CROSS JOIN LATERAL (SELECT f.id, f.distance FROM dedup_find(t) f) f WHERE t.id <= 60 AND f.distance > $many"), 0, '… and in dedup_find');
$node->safe_psql('postgres', q{SELECT dedup_setup('grown', '{"distance": null}')});
cmp_ok(abs(scalar_of($node, $now) - $many), '<=', 3, '… and nearly what is chosen for many at once');

# Rights, policies, and a path that has nothing.
$node->safe_psql('postgres', "CREATE ROLE clerk; GRANT SELECT ON short_english TO clerk; ALTER TABLE short_english ENABLE ROW LEVEL SECURITY;
	CREATE POLICY even ON short_english TO clerk USING (id % 2 = 0)");
is(scalar_of($node, "SET ROLE clerk; SET search_path = ''; SET enable_seqscan = off;
	SELECT pg_catalog.count(*) FROM public.short_english t, public.dedup_find(t) f"), scalar_of($node, 'SELECT count(*) FROM single_short_english WHERE a % 2 = 0 AND b % 2 = 0'),
	'a clerk finds the rows of a policy, and no others');
(my $ret, undef, $error) = $node->psql('postgres', "SET ROLE clerk; SELECT * FROM dedup_find('short_chinese', '水电')");
like($error, qr/permission denied for table short_chinese/, '… and nothing of another table');

# The index is used, and is asked for where it is not.
$node->safe_psql('postgres', "CREATE TABLE titles (id bigint PRIMARY KEY, title text); INSERT INTO titles SELECT i, 'question ' || i || ' on ' || md5(i::text) FROM generate_series(1, 5000) i;
	SELECT dedup_setup('titles'); ANALYZE titles");
like(scalar_of($node, "EXPLAIN SELECT id FROM titles WHERE ngrams(title, 3) @% ngram_query('question 12', 3, 0.5)"), qr/Bitmap Index Scan on titles_ngrams_idx/, 'the index is used');
is(scalar_of($node, 'SELECT count(*) FROM dedup_setup(\'titles\')'), 0, 'nothing more is to be done');
$node->safe_psql('postgres', 'CREATE TRIGGER g AFTER INSERT ON titles FOR EACH ROW EXECUTE FUNCTION near_dup_guard(); DROP INDEX titles_ngrams_idx');
($ret, undef, $error) = $node->psql('postgres', "INSERT INTO titles VALUES (0, 'a question')");
like($error, qr/needs an index on the n-grams of title.*dedup_setup/s, 'a guard without its index says so');
is(scalar_of($node, "SELECT dedup_setup('titles')"), 'CREATE INDEX ON public.titles USING gin (public.ngrams(title, 3) public.ngram_ops);', '… and dedup_setup makes it');

# Writers at once.
$node->safe_psql('postgres', q{
	CREATE FUNCTION wording(a int, b int) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$ SELECT string_agg(chr(22968 + (hashint4(CASE k WHEN b % 12 THEN b ELSE a * 100 + k END) & 2047)), '' ORDER BY k) FROM generate_series(1, 12) k $$;
	CREATE FUNCTION store(a int, b int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO title (content) VALUES (wording(a, b)); EXCEPTION WHEN exclusion_violation THEN NULL; END $$;
	CREATE FUNCTION change(a int, b int, which int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN UPDATE title SET content = wording(a, b) WHERE id = (SELECT id FROM title WHERE id >= which LIMIT 1); EXCEPTION WHEN exclusion_violation THEN NULL; END $$});
my $file = PostgreSQL::Test::Utils::tempdir . '/writers.sql';
my $random = "\\set a random(1, 60)\n\\set b random(1, 1000)\n\\set c random(1, 60)\n\\set w random(1, 60)\n";
append_to_file($file, "${random}BEGIN;\nSELECT store(:a, :b);\nSELECT store(:c, :b);\nSELECT change(:c, :a, :w);\nCOMMIT;\n");
append_to_file("$file.short", "${random}SELECT store(:a, :b);\n");
for my $action ('AFTER', 'BEFORE')
{
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS title; CREATE TABLE title (id bigserial PRIMARY KEY, content text);
		SELECT dedup_setup('title', '{\"method\": \"text\", \"recipe\": {}, \"similarity\": 0.4, \"n\": 2, \"details\": []}');
		CREATE TRIGGER g $action INSERT OR UPDATE ON title FOR EACH ROW EXECUTE FUNCTION near_dup_guard(" . ($action eq 'AFTER' ? '' : "'action=skip'") . ')');
	# Long transactions that wait for each other are told to try again, nearly all where they are slow; short ones go on.
	for my $round (1 .. 4)
	{
		my @run = map { my ($out, $err) = ('', ''); IPC::Run::start([ 'pgbench', '-n', '-c', 1, '-t', 30, '--random-seed=' . ($seed + 10 * $round + $_), '-f', $_ > 2 ? "$file.short" : $file, $node->connstr('postgres') ], '>', \$out, '2>', \$err) } 1 .. 4;
		$_->finish for @run;
	}
	cmp_ok(scalar_of($node, 'SELECT count(*) FROM title'), '>', 20, "$action: rows were stored");
	is(scalar_of($node, "SELECT count(*) FROM near_dup_pairs('title', '{\"method\": \"text\", \"similarity\": 0.4, \"n\": 2}')"), 0, "$action: no two of them are similar");
}
log_is_clean($node, 'one way');
done_testing();
