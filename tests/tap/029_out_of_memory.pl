# Protects the server's life where there is no memory: a statement that needs
# more address space than its backend may take ends with SQLSTATE 53200 (or does
# with less), the backend goes on, and a session that was open all along notices
# nothing. The limits are many, so that different allocations fail.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no prlimit' unless -r "/proc/$$/status" && IPC::Run::run([ 'prlimit', '--version' ], '>', \my $out, '2>', \my $err);

my $node = new_node('out_of_memory', conf => "work_mem = '1GB'\nmaintenance_work_mem = '2GB'\nmax_parallel_workers_per_gather = 1\n");
$node->safe_psql('postgres', 'CREATE EXTENSION pg_dedup_papers');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS id, test.random_fp(i) AS fp FROM generate_series(1, 400000) i;
CREATE TABLE few AS SELECT id, fp FROM t WHERE id <= 20000;
CREATE TABLE nearest AS SELECT id, fp FROM t WHERE id <= 100000;
CREATE INDEX ON nearest USING banding (fp);
CREATE TABLE body AS SELECT i AS id, (SELECT string_agg(md5((i * 40 + j)::text), ' ') FROM generate_series(1, 40) j)
    || repeat('停水三天，物业不管。', 10) AS content FROM generate_series(1, 8000) i;
-- One text of eight megabytes, of many different words; and one in Chinese.
CREATE TABLE huge AS SELECT string_agg(md5(i::text), ' ') AS content FROM generate_series(1, 240000) i;
CREATE TABLE long_key AS SELECT jsonb_build_object(repeat('k', 9000000), 1) AS content;
CREATE TABLE han AS SELECT string_agg(chr(19968 + (hashint4(i) & 16383)), '') AS content FROM generate_series(1, 1500000) i;
ANALYZE;
CREATE FUNCTION words(n integer) RETURNS text[] LANGUAGE sql AS 'SELECT array_agg(md5(i::text)) FROM generate_series(1, n) i';
SQL

# Every kind of allocation that grows with its input.
my @statements = (
	[ 'index build' => 'CREATE INDEX t_fp ON t USING banding (fp)' ],
	[ 'nearest' => 'SELECT count(*) FROM (SELECT id FROM nearest ORDER BY fp <~> 0 LIMIT 90000) n' ],
	[ 'near_dup_pairs' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM t', '{"distance": 3}')} ],
	[ 'near_dup_pairs on three threads' => q{SET pg_dedup.threads = 3; SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM t', '{"distance": 3}')} ],
	[ 'near_dup_component' => 'SELECT max(c) FROM (SELECT near_dup_component(fp, 3, 6) OVER () AS c FROM t) s' ],
	[ 'single_pass' => 'SELECT max(c) FROM (SELECT single_pass(fp, 3) OVER () AS c FROM t) s' ],
	[ 'exact_seen' => 'SELECT count(*) FROM (SELECT exact_seen(content) OVER () AS s FROM body) s' ],
	[ 'trie_seen' => 'SELECT count(*) FROM (SELECT trie_seen(content) OVER () AS s FROM body) s' ],
	[ 'bloom_seen' => 'SELECT count(*) FROM (SELECT bloom_seen(content, 1000000000, 3) OVER () AS s FROM body) s' ],
	[ 'bloom_seen in passes' => 'SELECT count(*) FROM (SELECT bloom_seen(content, 400000000, 3, passes => 2) OVER () AS s FROM body) s' ],
	[ 'bloom_new' => 'SELECT length(bloom_new(60000000)::text)' ],
	[ 'bloom_agg' => 'SELECT (bloom_stats(bloom_agg(content, 60000000, 0.01))).bits FROM body' ],
	[ 'near_dup_groups' => q{SELECT count(*) FROM near_dup_groups('SELECT id, id + 1 FROM t')} ],
	[ 'near_dup_groups of texts' => q{SELECT count(*) FROM near_dup_groups('SELECT md5(id::text), md5((id + 1)::text) FROM t', NULL::text)} ],
	[ 'dedup' => q{SELECT count(*) FROM dedup('SELECT id, content FROM body')} ],
	[ 'dedup with a diameter' => q{SELECT count(*) FROM dedup('SELECT id, content, fp FROM body JOIN few USING (id)', '{"fp": "fp", "diameter": 8, "distance": 6, "keep": "longest", "similarity": 0.5, "n": 2, "details": []}')} ],
	[ 'dedup of texts in longer ones' => q{SELECT count(*) FROM dedup('SELECT id, content FROM body', '{"contained": 0.7, "method": "exact"}')} ],
	[ 'dedup by records' => q{SELECT count(*) FROM dedup('SELECT id, content, id % 90 AS page FROM body', '{"method": "records"}')} ],
	[ 'dedup_report' => q{SELECT length(dedup_report('SELECT id, content FROM body'))} ],
	[ 'dedup_into' => q{CALL dedup_into('body_groups', 'SELECT id, content FROM body')} ],
	[ 'near_dup_pairs by text' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, content FROM body', '{"method": "text", "similarity": 0.6}')} ],
	[ 'dedup_evaluate' => q{SELECT count(*) FROM dedup_evaluate('SELECT id, id + 1 FROM t', 'SELECT id, id + 2 FROM t')} ],
	[ 'near_dup_calibrate' => q{SELECT count(*) FROM near_dup_calibrate('SELECT id, fp FROM t', 'SELECT id, id + 1 FROM t')} ],
	[ 'dedup_suggest' => q{SELECT method FROM dedup_suggest('SELECT content FROM body')} ],
	[ 'dedup_corpus_build' => q{SELECT dedup_corpus_build('c', 'SELECT content FROM body')} ],
	[ 'dedup_dictionary_build' => q{SELECT dedup_dictionary_build('d', words(30000))} ],
	[ 'simhash' => q{SELECT simhash(content, '{"weight": "log"}') FROM huge} ],
	[ 'simhash of shingles' => q{SELECT simhash(content, '{"tokens": "shingles", "n": 3}') FROM huge} ],
	[ 'simhash of Chinese' => q{SELECT simhash(content, '{"weight": "log", "simplify": true}') FROM han} ],
	[ 'simhash of markup' => q{SELECT simhash('<p>' || content, '{"markup": "html"}') FROM huge} ],
	[ 'simhash of a document with a long key' => q{SELECT simhash(content, '{"": 1}') FROM long_key} ],
	[ 'simhash_features' => 'SELECT count(*) FROM huge, simhash_features(content)' ],
	[ 'simhash_explain' => 'SELECT count(*) FROM huge, simhash_explain(content, content)' ],
	[ 'jaccard' => 'SELECT ngram_jaccard(content, content) FROM han' ],
	[ 'jaccard of long n-grams' => 'SELECT ngram_jaccard(content, content, 5) FROM huge' ],
	[ 'cosine' => 'SELECT simhash_cosine(content, content) FROM huge' ],
	[ 'jaccard of arrays' => 'SELECT set_jaccard(w, w) FROM words(400000) w' ],
	[ 'minhash' => 'SELECT length(minhash(content, 4)::text) FROM huge' ],
	[ 'shingles' => 'SELECT cardinality(shingles(content)) FROM huge' ],
	[ 'super_shingles' => 'SELECT cardinality(super_shingles(content)) FROM huge' ],
	[ 'imatch' => 'SELECT imatch(content, words(100000)) FROM huge' ],
	[ 'imatch_lexicon' => 'SELECT cardinality(imatch_lexicon(content, 0, 1)) FROM body' ],
	[ 'boolean_terms' => 'SELECT cardinality(boolean_terms(content)) FROM huge' ],
	[ 'scam_similarity' => 'SELECT scam_similarity(content, content) FROM huge' ],
	[ 'spotsigs' => q{SELECT cardinality(spotsigs(replace(content, 'a', ' the '))) FROM huge} ],
	[ 'feature_codes' => 'SELECT cardinality(feature_codes(content)) FROM han' ],
	[ 'sentence_similarity' => q{SELECT sentence_similarity(c, c) FROM (SELECT replace(left(content, 200000), 'a', '. ') AS c FROM huge) s} ],
	[ 'same_details' => 'SELECT same_details(left(content, 400000), right(content, 400000)) FROM huge' ]);

my $bystander = session($node);
my $session = session($node);

# What a session says to a statement; nothing if it is no more.
sub ask
{
	my ($session, $sql) = @_;
	${ $session->{out} } = '';
	${ $session->{in} } .= "$sql;\n\\echo state :SQLSTATE\n";
	eval { IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /^state \w+\n/m; 1 } or return '';
	return ${ $session->{out} };
}

# The address space of a session, in kilobytes more than it has; undef: any.
sub limit
{
	my ($session, $more) = @_;
	my ($has) = slurp_file("/proc/$session->{pid}/status") =~ /VmSize:\s+(\d+) kB/;
	my $soft = defined $more ? ($has + $more) * 1024 : 'unlimited';
	return system('prlimit', "--pid=$session->{pid}", "--as=$soft:");
}

my @more = $ENV{DEDUP_TEST_HEADROOM} ? split(/,/, $ENV{DEDUP_TEST_HEADROOM}) : (2_000, 24_000);
foreach my $statement (@statements)
{
	my ($name, $sql) = @$statement;
	my @states;
	foreach my $more (@more)
	{
		# Each time a new session: what it has kept of the last statement would be room.
		finish_session($session);
		$session = session($node);
		ask($session, 'SELECT simhash($$停水$$)');
		limit($session, $more);
		my ($state) = ask($session, $sql) =~ /^state (\w+)/m;
		limit($session, undef) if defined $state;
		push @states, $state // 'gone';
		last unless like(ask($session, 'SELECT 40 + 2'), qr/^42\n/, "$name with $more kB: the session goes on");
		ask($session, 'ROLLBACK; RESET ALL; DROP INDEX IF EXISTS t_fp');
	}
	is(join(' ', grep { !/^(53200|00000)$/ } @states), '', "$name: out of memory, or with less (@states)");
	like(ask($bystander, 'SELECT 40 + 2'), qr/^42\n/, "$name: a bystander is not disturbed");
}
# Threads that are started where there is hardly any memory left, at limits all over what eight of them take: what the C
# library allocates in a new thread ends the process if it fails.
my @states;
for (my $more = 0; $more <= 28_672; $more += 512)
{
	finish_session($session);
	$session = session($node);
	ask($session, q{SET pg_dedup.threads = 8; SELECT count(*) FROM dedup('SELECT 1, $$停水$$')});
	limit($session, $more);
	my ($state) = ask($session, q{SELECT count(*) FROM dedup('SELECT id, content FROM body WHERE id <= 2000')}) =~ /^state (\w+)/m;
	push @states, $state // 'gone';
}
is(join(' ', grep { !/^(53200|00000)$/ } @states), '', "eight threads: out of memory, or with less (@states)");
like(ask($bystander, 'SELECT 40 + 2'), qr/^42\n/, 'eight threads: a bystander is not disturbed');

finish_session($session);
finish_session($bystander);
my $log = slurp_file($node->logfile);
unlike($log, qr/FATAL:  out of memory|terminated by signal/, 'no session was ended');
unlike($log, qr/HINT: *$/m, 'no hint without words');
log_is_clean($node, 'out of memory');
$node->stop;
done_testing();
