# Protects whoever sets a statement_timeout: every function of the extension, given a text of many megabytes or an array
# of a million elements, ends within a moment when it is told to, in one session that works on. A function that is not
# walked here, or named as one without work of its own, fails the test.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Seconds from the signal to the end: many times what it takes, for a machine that is busy otherwise.
my $bound = 4;

test_seed();
my $node = new_node('interrupts', conf => "max_parallel_workers_per_gather = 0\nwork_mem = '64MB'\n");
$node->safe_psql('postgres', 'CREATE EXTENSION pg_dedup_papers');
$node->safe_psql('postgres', q{
	CREATE TABLE texts (kind text, a text, b text);
	ALTER TABLE texts ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
	-- A megabyte without a separator, of words, of sentences.
	INSERT INTO texts
		SELECT 'han', string_agg(chr(19968 + (hashint8(i) & 2047)), ''), string_agg(chr(19968 + (hashint8(-i) & 2047)), '') FROM generate_series(1, 350000) i
		UNION ALL SELECT 'words', string_agg('w' || (hashint8(i) & 65535), ' '), string_agg('w' || (hashint8(-i) & 65535), ' ') FROM generate_series(1, 150000) i
		UNION ALL SELECT 'sentences', string_agg(chr(19968 + (hashint8(i) & 2047)) || repeat('。', (i % 8 = 0)::int), ''),
			string_agg(chr(19968 + (hashint8(-i) & 2047)) || repeat('。', (i % 8 = 0)::int), '') FROM generate_series(1, 350000) i
		UNION ALL SELECT 'alike', repeat('a. ', 350000), repeat('a. ', 200000)
		UNION ALL SELECT 'marks', 'a' || repeat(U&'\0301', 500000), 'a' || repeat(U&'\0316\0301', 250000)
		UNION ALL SELECT 'page', repeat('<p class="x">停水&amp;</p>', 37000), repeat('<b ', 350000)
		UNION ALL SELECT 'function words', repeat('的', 350000), repeat('的了', 175000)
		UNION ALL SELECT 'digits', repeat('1234567890', 100000), repeat('1335567890', 100000)
		UNION ALL SELECT 'traditional', repeat('請問公租房何時搖號', 40000), repeat('乾隆皇帝的著作', 50000);
	UPDATE texts SET a = repeat(a, 12), b = repeat(b, 12);
	CREATE TABLE arrays AS SELECT array_agg('word' || i) AS t, array_agg('word' || i + 500000) AS u, array_agg(test.random_fp(i)) AS h,
		array_agg(test.random_fp(-i)) AS g, array_agg(hashint8(i) & 31) AS i, array_agg(hashint8(-i) & 31) AS j FROM generate_series(1, 1000000) i;
	ALTER TABLE arrays ALTER t SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL;
	CREATE TABLE rows AS SELECT i AS id, 'word' || i AS content, test.fp('hot', i) AS fp FROM generate_series(1, 300000) i;
	CREATE INDEX rows_fp ON rows USING banding (fp);
	SELECT dedup_corpus_build('words', 'SELECT content FROM rows LIMIT 1000', '{"tokens": "words"}');
	ANALYZE});

# Expressions of the two texts of a kind.
my @texts = (
	'han words marks' => 'simhash(a)',
	'han' => q{simhash(a, '{"weight": "log"}')},
	'han' => q{simhash(a, '{"tokens": "shingles", "n": [1, 2, 3, 4, 64]}')},
	'traditional' => q{simhash(a, '{"simplify": true}')},
	'traditional' => q{simhash(b, '{"simplify": true}')},
	'page' => q{simhash(a, '{"markup": "html"}')},
	'page' => q{simhash(b, '{"markup": "xml"}')},
	'han' => q{simhash(ROW(a, b), '{"f1": 1, "f2": "tf"}')},
	'han' => q{simhash(ARRAY[a, b], '[1, null]')},
	'han' => q{simhash(jsonb_build_object('a', a, 'b', ARRAY[b]), '{"a": 1, "b": "tf"}')},
	'han' => q{simhash(a, jsonb_build_object('stop', ARRAY[a]))},
	'han words' => q{(SELECT count(*) FROM simhash_features(a, '{"n": [1, 2, 3, 4, 5, 6, 7, 8]}'))},
	'han' => q{(SELECT count(*) FROM simhash_features(ROW(a), '{"f1": "tf"}'))},
	'han' => '(SELECT count(*) FROM simhash_explain(a, b))',
	'han' => q{(SELECT count(*) FROM simhash_explain(ARRAY[a], ARRAY[b], '[null]'))},
	'han words' => 'near_dup(a, b)',
	'han words' => 'ngram_jaccard(a, b)',
	'han' => 'ngram_jaccard(a, b, 20)',
	'digits' => 'ngram_containment(a, b, 64)',
	'han' => 'cardinality(ngrams(a, 20))',
	'han' => 'cardinality(ngrams(ARRAY[a, b], 2))',
	'han' => 'cardinality(ngram_query(a, 3, 0.5))',
	'han words' => 'simhash_cosine(a, b)',
	'han' => 'minhash(a, 4096, 64)',
	'han words' => 'shingles(a)',
	'words' => 'shingles(a, 64)',
	'han' => 'shingle_hashes(a, 64)',
	'han' => 'super_shingles(a, 3, 1, 1024)',
	'han' => q{imatch(a, ARRAY['停水'])},
	'words' => q{imatch(a, 'words@1', 0, 1)},
	'words' => 'imatch_random(a, string_to_array(left(a, 100000), $$ $$), 1000)',
	'han words' => 'boolean_terms(a)',
	'words' => 'scam_similarity(a, b)',
	'words' => 'scam_subset(a, b)',
	'words' => 'spotsigs(a)',
	'function words' => 'spotsigs(a, NULL, NULL, 64, 64)',
	'sentences alike' => 'feature_codes(a)',
	'sentences' => 'sentence_string(a)',
	'alike' => 'sentence_lengths(a)',
	'sentences alike' => 'sentence_similarity(a, b)',
	'sentences alike' => '(SELECT count(*) FROM sentence_blocks(a, b))',
	'han digits' => 'same_details(a, b)',
	'digits' => '(SELECT count(*) FROM dedup_explain(a, b))',
	'han' => 'length_weight(a)',
	'han' => 'bloom_contains(bloom_add(bloom_new(1000), a), b)',
	'han' => 'dedup_dictionary_build($$of_a_text$$, ARRAY[left(a, 9)], ARRAY[a])');
# Queries of two arrays of a million elements, and over many rows.
my @queries = (
	map({ "SELECT $_ FROM arrays" }
		'minhash(t, 4096)', 'minhash(ARRAY(SELECT abs(x) FROM unnest(h) x), array_fill(3::bigint, ARRAY[4000]), array_fill(5::bigint, ARRAY[4000]), 1000003)', 'minhash_similarity(h, g)', 'h @% g', 'minhash_bands(h, 4000, 200)',
		'set_jaccard(t, u)', 'set_jaccard(h, g)', 'set_containment(t, u)', 'set_containment(h, g)', 'super_shingles(h, 1024)', 'spotsigs_similarity(t, u)',
		'sentence_length_similarity(i, j)', q{imatch('word1', t)}, q{sentence_string('a. b.', t)}, q{spotsigs('a b', t, u)},
		'simhash(t, to_jsonb(array_fill(1, ARRAY[1000000])))', q{simhash('a', jsonb_build_object('stop', t))},
		q{simhash('a', (SELECT jsonb_build_object('terms', jsonb_object_agg(x, 1)) FROM unnest(t) x))},
		q{simhash(ROW(1), (SELECT jsonb_object_agg(x, 1) FROM unnest(t) x))},
		q{simhash(to_jsonb(t), '{"": 1}')}, q{(SELECT count(*) FROM simhash_features(jsonb_build_object(repeat('k', 1000), to_jsonb(t[1:100000])), '{"": 1}'))},
		q{(SELECT count(*) FROM simhash_explain(to_jsonb(t[1:300000]), to_jsonb(u[1:300000]), '{"": 1}'))},
		'dedup_dictionary_build($$of_words$$, t)', 'simhash(array_to_tsvector(t[1:50000]))'),
	map({ "SELECT $_ FROM rows" }
		'simhash_agg(content, 1)', 'bloom_agg(content, 1000000, 0.01)', 'imatch_lexicon(content, 0, 1)', 'sum(hamming(fp, ~fp))',
		'count(near_dup(fp, ~fp))', 'count(fp <@ hamming_ball(~fp, 9))'),
	map({ "SELECT count(x) FROM (SELECT $_ OVER () AS x FROM rows) s" }
		'exact_seen(content)', 'trie_seen(content)', 'bloom_seen(content)', 'single_pass(fp, 9)', 'near_dup_component(fp, 9)',
		'near_dup_component(fp, 9, 12)'),
	map({ "SELECT count(*) FROM $_" }
		'rows, near_dup_bands(fp)', 'rows, near_dup_bands(fp, 8, 11)', q{near_dup_groups('SELECT id, id + 1 FROM rows')}, q{near_dup_groups('SELECT content, content || id FROM rows', NULL::text)}, q{near_dup_pairs('TABLE rows', '{"distance": 12}')} =~ s/TABLE rows/SELECT id, fp FROM rows/r,
		q{near_dup_pairs('SELECT id, content FROM rows', '{"method": "text", "similarity": 0.3}')}, q{dedup('SELECT id, content FROM rows')},
		q{dedup('SELECT id, content, content || '' street '' || id / 7, id % 1000 FROM rows', '{"method": "records"}')},
		q{dedup('SELECT id, content || '' of the street '' || id % 1000 || '' and '' || id / 7 FROM rows', '{"contained": 0.7, "method": "exact"}')},
		q{dedup('SELECT 1, a FROM texts WHERE kind = ''words'' UNION ALL SELECT 2, a || '' more'' FROM texts WHERE kind = ''words''', '{"contained": 0.7, "method": "exact"}')},
		q{dedup('SELECT 1, a FROM texts WHERE kind = ''han'' UNION ALL SELECT 2, a || ''x'' FROM texts WHERE kind = ''han''', '{"similarity": 0.5, "distance": 64}')},
		q{dedup_link('SELECT id, content FROM rows WHERE id % 2 = 0', 'SELECT id, content FROM rows WHERE id % 2 = 1')}, q{dedup_review('SELECT id, content FROM rows')},
		q{dedup_suggest('SELECT content FROM rows')}, q{near_dup_calibrate('SELECT id, fp FROM rows')},
		q{dedup_evaluate('SELECT id, id + 1 FROM rows', 'SELECT id, id + 2 FROM rows')}),
	q{SELECT count(*) FROM dedup_explain('SELECT id, content, fp FROM rows', 'SELECT id, id + 1 FROM rows', '{"method": "records"}')},
	q{SELECT length(dedup_report('SELECT id, content FROM rows', '{"distance": 12, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}'))},
	q{SELECT length(dedup_report('SELECT id, repeat(content || '' '', 200), fp FROM rows WHERE id <= 20000', '{"fp": "fp", "distance": 20, "similarity": 0}'))},
	q{SELECT dedup_corpus_build('of_rows', 'SELECT content FROM rows')},
	q{SELECT dedup_corpus_build('words@1', 'SELECT content FROM rows')},
	'SELECT banding_stats($$rows_fp$$) FROM generate_series(1, 100)',
	'SELECT banding_check($$rows_fp$$, true) FROM generate_series(1, 100)',
	'SELECT bloom_stats(bloom_merge(bloom_sized(100000000, 4), bloom_sized(100000000, 4)))');
while (my ($kinds, $expression) = splice(@texts, 0, 2))
{
	foreach my $kind ($kinds eq 'function words' ? $kinds : split(' ', $kinds))
	{
		push @queries, "SELECT $expression FROM texts WHERE kind = '$kind'";
	}
}

# What does the same little work whatever it is given, and what other tests cancel.
my @others = qw(
	banding_handler bloom_in bloom_out bloom_send combined_similarity combined_similarity_radius
	dedup_clean dedup_clean_batches dedup_decide dedup_undo dedup_version_drop dedup_find dedup_into dedup_setup hamming_ball_in hamming_ball_out hamming_ball_send hamming_joinsel hamming_sel minhash_band_recall near_dup_guard record_keys simhash_trigger);
my $functions = $node->safe_psql('postgres', q{
	SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	 WHERE d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_dedup', 'pg_dedup_papers')) AND prorettype <> 'internal'::regtype
	   AND NOT 'internal'::regtype = ANY (proargtypes) AND proname NOT LIKE '\_%'});
my $walked = join ' ', @queries;
my @missing = grep { my $name = $_; $walked !~ /\b$name\(/ && !grep { $_ eq $name } @others } split /\n/, $functions;
is(join(' ', @missing), '', 'every function is walked');

my $session = session($node, '-v', 'VERBOSITY=sqlstate');

# Runs a query in the session and gives the state it ended with and the seconds it took; $meanwhile is called while it runs.
sub run
{
	my ($query, $meanwhile) = @_;
	${ $session->{out} } = '';
	${ $session->{err} } = '';
	my $from = time;
	${ $session->{in} } .= "BEGIN;\n\\o /dev/null\n$query;\n\\o\n\\echo state :SQLSTATE\nROLLBACK;\n";
	my $pause = sub { IPC::Run::pump_nb($session->{run}); usleep(5_000); ${ $session->{out} } =~ /state (\w+)\n/ };
	my $signalled = $from + $meanwhile->($pause, $from);
	until ($pause->())
	{
		die "the session ended: " . ${ $session->{err} } unless $session->{run}->pumpable;
	}
	my ($state) = ${ $session->{out} } =~ /state (\w+)\n/;
	return ($state, time - $signalled);
}

my %ways = (
	timeout => sub { 0.15 },
	cancel => sub {
		my ($pause, $from) = @_;
		my $after = 0.1 + rand 0.5;
		while (time < $from + $after) { return time - $from if $pause->() }
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		return time - $from;
	});
foreach my $way (sort keys %ways)
{
	my $timeout = $way eq 'timeout' ? "SET LOCAL statement_timeout = '150ms'; " : '';
	my (@late, @wrong, $cancelled);
	foreach my $query (@queries)
	{
		my ($state, $seconds) = run($timeout . $query, $ways{$way});
		push @wrong, "$query: $state" unless $state =~ /^(57014|00000)$/;
		push @late, sprintf("%.1f s: %s", $seconds, $query) if $seconds > $bound;
		$cancelled++ if $state eq '57014';
	}
	is(join("\n", @wrong), '', "$way: ends as it should");
	is(join("\n", @late), '', "$way: within $bound s");
	cmp_ok($cancelled, '>', @queries / 2, "$way: most of " . @queries . ' queries were ended');
}
${ $session->{out} } = '';
my ($state) = run('SELECT simhash($$a$$)', sub { 0 });
is($state, '00000', 'the session works on');
finish_session($session);
log_is_clean($node, 'interrupts');
done_testing();
