# Protects the server from whoever calls anything with anything: every function of both extensions, taken from the
# catalogue, with random values of its types, the extreme ones among them, and NULLs. No crash, no internal error (SQLSTATE
# class XX), and no memory that grows when the same calls are made again. Then the same for triggers, index options and
# settings, which take their arguments as text.
use strict;
use warnings;
# SQL in qw().
no warnings 'qw';
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

# Calls of each function, in each of the two rounds.
my $calls = $ENV{DEDUP_TEST_CALLS} // 12;
test_seed();

my $node = new_node('calls', conf => "max_parallel_workers_per_gather = 0\nmax_parallel_maintenance_workers = 0\n");
$node->safe_psql('postgres', q{CREATE EXTENSION pg_dedup_papers;
	CREATE TABLE letter (id bigint PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED);
	INSERT INTO letter SELECT i, 'no water in the ' || i % 7 || 'th house since day ' || i % 3 FROM generate_series(1, 60) i;
	CREATE INDEX letter_fp ON letter USING banding (fp);
	CREATE TABLE "od d" ("i d" text, "bo'dy" varchar(10)); INSERT INTO "od d" VALUES (NULL, NULL), ('a', ''), ('ä', '停水');
	CREATE TABLE none (); CREATE VIEW looking AS TABLE letter;
	CREATE TABLE settled (id bigint PRIMARY KEY, body text); INSERT INTO settled SELECT id, body FROM letter;
	SELECT dedup_setup('settled', '{"columns": "body"}');
	SELECT dedup_corpus_build('words', 'SELECT body FROM letter', '{"tokens": "words"}'), dedup_dictionary_build('own', ARRAY['停水'])});

my @texts = (qw(NULL '' 'a' 'words@1' 'own@1' 'words@2' 'fp' 'id' 'body' 'mixed' 'tabulation' 'city64' 'pairs' 'groups' '停水' 'banding' '{}'),
	q{' '}, q{'no water in the house since monday'}, q{'停水五天了。张三、李四于2024年1月3日反映：没有水！'}, q{'a'';--'}, q{E'\u0301\u0301a\u200d\u200b\ufeff'}, q{E'\u0001\t\r\n\x0b'},
	q{'👩‍👩‍👧‍👦🏳️‍🌈'}, q{repeat('停水。', 700)}, q{repeat('a', 3000)}, q{repeat('-', 2000)}, q{repeat('1', 500)}, q{repeat(U&'\0301', 900)}, q{'<p class="&amp;&#x110000;<!--<script'},
	q{repeat('<b>', 300)}, q{'١٢٣ नमस्ते שלום'}, q{U&'\+10FFFF\FFFE'}, q{'99999999999999999999999999年'}, q{(SELECT string_agg(chr(i), '') FROM generate_series(1, 3000) i)});
my @queries = (qw(NULL '' 'letter' 'settled' 'none' 'looking' 'missing' 'pg_class' 'letter_fp'), q{'"od d"'}, q{'SELECT id, body FROM letter'}, q{'SELECT id, fp FROM letter'},
	q{'SELECT body FROM letter'}, q{'SELECT id, id + 1 FROM letter'}, q{'SELECT'}, q{'SELECT 1'}, q{'SELECT NULL, NULL'}, q{'SELECT 1, 1; SELECT 2'}, q{'VALUES (1, ''a''), (NULL, NULL), (1, ''a'')'},
	q{'SELECT * FROM'}, q{'SELECT 1/0, 2'}, q{'DELETE FROM letter RETURNING id, body'}, q{'WITH x AS (DELETE FROM none RETURNING 1) SELECT 1, 2'}, q{'SELECT 1, 2 INTO x'}, q{'SELECT $1, $2'},
	q{'COPY letter TO STDOUT'}, q{'SELECT ARRAY[1], ROW(1, 2)'}, q{'SELECT ''NaN''::float8, ''infinity''::date'}, q{'TABLE letter LIMIT 0'}, q{'BEGIN'}, q{'SELECT pg_sleep(0), ''a'' -- '},
	q{'SELECT i, repeat(chr(19968 + i), 9) FROM generate_series(1, 50) i'}, q{'SELECT id, body, fp, NULL::date, ARRAY[id], body FROM letter'});
my @jsons = (qw(NULL '{}' '[]' 'null' '1' '"tf"' 'true' '"idf"' '-0.0' '[[[[]]]]' '{"":""}'),
	q{'{"n": 2, "tokens": "words+chars"}'}, q{'{"tokens": "shingles", "n": [1, 64]}'}, q{'{"n": 0}'}, q{'{"n": 1e400}'}, q{'{"n": -1}'}, q{'{"n": 18446744073709551616}'}, q{'{"weight": "log", "stop": ["a", null]}'},
	q{'{"terms": {"a": -1, "b": 1e308}}'}, q{'{"dictionary": "own@1"}'}, q{'{"weight": "idf", "corpus": "words@1", "tokens": "words"}'}, q{'{"corpus": "none@99999999999"}'}, q{'[1, null]'}, q{'[1e308, 1e308, null]'}, q{'[null, null]'},
	q{'{"f1": 1, "f2": "tf"}'}, q{'{"body": "tf"}'}, q{'{"markup": "html", "simplify": true}'}, q{'{"distance": 64, "similarity": 0}'}, q{'{"distance": 65}'}, q{'{"follow": 0}'}, q{'{"columns": "body", "distance": 3}'}, q{'{"columns": ["body", "body"]}'},
	q{'{"columns": {"body": null, "id": 3}}'}, q{'{"group": "components", "keep": "last", "exact": "bytes"}'}, q{'{"method": "records"}'}, q{'{"method": "records", "columns": ["body", "fp"], "keep": "longest", "equal": "none"}'}, q{'{"limit": 3, "details": true, "threads": 9999}'}, q{('[' || repeat('[', 60) || repeat(']', 60) || ']')::jsonb}, q{jsonb_build_object('stop', to_jsonb(string_to_array(repeat('a ', 500), ' ')))});
my %values = (
	bigint => [ qw(NULL 0 1 -1 2 3 64 65 100 1000000 9223372036854775807 -9223372036854775808 4611686018427387904) ],
	integer => [ qw(NULL 0 1 -1 2 3 9 20 63 64 65 1000 2147483647 -2147483648) ],
	'double precision' => [ qw(NULL 0 -0 1 -1 0.5 0.999999999999 1e-320 1e308 -1e308 'NaN' 'Infinity' '-Infinity' 64) ],
	boolean => [ qw(NULL true false) ], date => [ qw(NULL '2024-01-03' 'infinity' '-infinity' '5874897-12-31'), q{'4713-01-01 BC'} ],
	'text[]' => [ qw(NULL '{}' '{NULL}' '{a}' '{a,a,NULL,""}' '{{a,b},{c,d}}' '[5:6]={a,b}' '{name,date,number}' '{name,nothing}'), q{array_fill('停水'::text, ARRAY[500])}, q{ARRAY[repeat('a', 3000)]} ],
	'bigint[]' => [ qw(NULL '{}' '{NULL}' '{1}' '{1,NULL,2}' '{{1,2},{3,4}}' '[-5:-4]={1,2}' '{9223372036854775807,-9223372036854775808,0}'), 'array_fill(7::bigint, ARRAY[500])', '(SELECT array_agg(hashint8extended(i, 1)) FROM generate_series(1, 128) i)' ],
	'integer[]' => [ qw(NULL '{}' '{NULL}' '{1}' '{1,NULL,2}' '{{1,2},{3,4}}' '{2147483647,-2147483648}'), 'array_fill(7, ARRAY[500])' ],
	tsvector => [ qw(NULL '' 'a'), q{'a:1A,2B b:16383D'}, q{to_tsvector('simple', repeat('a b ', 200))} ],
	record => [ 'NULL', 'ROW()', 'ROW(NULL)', 'ROW(1, 2)', q{ROW('a'::text, 'b'::text)}, q{ROW(ROW('a'), ARRAY['b'])}, '(SELECT l FROM letter l LIMIT 1)', '(SELECT l FROM "od d" l LIMIT 1)', '(SELECT s FROM settled s LIMIT 1)', '(SELECT n FROM (SELECT FROM none) n LIMIT 1)' ],
	anyelement => [ 'NULL::bigint', '0::bigint', q{''::text}, 'NULL::date', 'ARRAY[1]', '1.5::numeric' ],
	regclass => [ qw(NULL 'letter' 'settled' 'none' 'looking' 'letter_fp' 'letter_pkey' 'pg_class' 0 4294967295 'pg_toast.pg_toast_1255') ],
	_dedup_table => [ qw(NULL 'letter' 'none' 0 4294967295) ], oid => [ qw(NULL 0 1 4294967295) ],
	bytea => [ 'NULL', q{''}, q{'\x00'}, q{'\xff00ff'}, q{decode(repeat('ab', 500), 'hex')} ],
	# bit is bit(1) in a cast.
	bit => [ map { "(SELECT b FROM ($_) AS s(b))" } 'SELECT NULL::bit(64)', q{SELECT ''::"bit"}, 'SELECT 0::bit', 'SELECT 5::bit(64)', 'SELECT (-1)::bit(64)', q{SELECT repeat('01', 128)::"bit"}, q{SELECT repeat('1', 65)::"bit"} ],
	bloom => [ 'NULL', 'bloom_new(10)', 'bloom_sized(1, 1)', 'bloom_sized(100000, 64)', q{bloom_add(bloom_new(100), 'a')} ],
	hamming_ball => [ 'NULL', 'hamming_ball(0, 0)', 'hamming_ball(-1, 64)', 'hamming_ball(-9223372036854775808, -5)', q{'(1,2)'::hamming_ball} ],
	cstring => [ map { "${_}::cstring" } q{''}, q{'(1,2)'}, q{'(1,'}, q{'(9223372036854775808,0)'}, q{'(0,99999999999)'}, q{'\x'}, q{'\x00ff'}, q{repeat('(', 99)::text} ],
	text => \@texts, jsonb => \@jsons);

sub one_of { my ($list) = @_; return $list->[ int rand @$list ]; }
sub value
{
	my ($type, $name) = @_;
	my $pool = $type eq 'text' && $name =~ /^(source|query|truth|found|tbl)$/ && rand() < 0.8 ? \@queries : $values{$type};
	my $value = one_of($pool);
	return $type eq 'anyelement' || $type eq 'cstring' ? $value : $value =~ /^ROW|^\(SELECT \w+ FROM (letter|"od d"|settled|\()/ ? $value : "($value)::$type";
}

my @functions = map { my ($oid, $name, $kind, $required, $types, $names) = split /\|/;
	{ name => $name, kind => $kind, required => $required, types => [ split /,/, $types ], names => [ split /,/, $names ] } } split /\n/, $node->safe_psql('postgres', q{
	SELECT p.oid, p.oid::regproc, prokind, pronargs - pronargdefaults,
	       (SELECT string_agg(format_type(t, NULL), ',' ORDER BY o) FROM unnest(proargtypes) WITH ORDINALITY u(t, o)),
	       (SELECT string_agg(coalesce(n, ''), ',' ORDER BY o) FROM unnest(proargnames) WITH ORDINALITY u(n, o) WHERE coalesce(proargmodes[o], 'i') = 'i')
	  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	 WHERE d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_dedup', 'pg_dedup_papers'))
	   AND prorettype NOT IN ('internal'::regtype, 'trigger'::regtype, 'index_am_handler'::regtype) AND NOT 'internal'::regtype = ANY (proargtypes) ORDER BY p.oid::regprocedure::text});
cmp_ok(scalar @functions, '>', 100, 'functions are found');
my %unknown = map { $_ => 1 } grep { !$values{$_} } map { @{ $_->{types} } } @functions;
is(join(' ', sort keys %unknown), '', 'values are known of every type');

my @statements;
foreach my $function (@functions)
{
	foreach (1 .. $calls)
	{
		my $given = $function->{required} + int rand(1 + @{ $function->{types} } - $function->{required});
		my $call = "$function->{name}(" . join(', ', map { value($function->{types}[$_], $function->{names}[$_] // '') } 0 .. $given - 1) . ')';
		push @statements, $function->{kind} eq 'p' ? "CALL $call"
		  # What changes tables is undone; a procedure that commits must stand alone.
		  : "BEGIN; SELECT $call " . ({ a => 'FROM generate_series(1, 3)', w => 'OVER () FROM generate_series(1, 3)' }->{ $function->{kind} } // '') . '; ROLLBACK';
	}
}

# Triggers, options of an index, settings.
my @arguments = (qw('fp' 'body' 'missing' 'distance=6' 'distance=65' 'distance=' 'distance=-1' 'distance=9999999999' 'action=skip' 'action=flag' 'action=log' 'action=none' 'flag=body' 'flag=id' 'log=letter' 'log=missing.table'
	'columns=body' 'columns=fp' 'similarity=0.5' 'similarity=NaN' 'similarity=1e400' 'n=0' 'n=64' 'n=99' 'index=none' 'index=any' '' '=' '==='), q{'distance=6 '}, q{'{"n": 2}'}, q{'[1, null]'}, q{'null'}, q{repeat('a', 10)} =~ s/repeat.*/'aaaaaaaaaa'/r);
foreach (1 .. 6 * $calls)
{
	my $arguments = join ', ', map { one_of(\@arguments) } 1 .. int rand 6;
	my ($trigger, $when) = (one_of([ 'near_dup_guard', 'near_dup_guard', 'simhash_trigger' ]), one_of([ 'BEFORE', 'AFTER' ]) . ' ' . one_of([ 'INSERT OR UPDATE', 'INSERT', 'DELETE', 'INSERT', 'TRUNCATE' ]));
	push @statements, "BEGIN; CREATE TABLE w (id bigint PRIMARY KEY, fp bigint, body text); CREATE INDEX ON w USING banding (fp); CREATE TRIGGER t $when ON w FOR EACH " . one_of([ 'ROW', 'ROW', 'ROW', 'STATEMENT' ])
	  . " EXECUTE FUNCTION $trigger($arguments); INSERT INTO w SELECT i, CASE WHEN i % 4 > 0 THEN i END, " . value('text', 'body') . " FROM generate_series(1, 9) i ON CONFLICT DO NOTHING; UPDATE w SET fp = NULL, body = 'b' WHERE id % 2 = 0; DELETE FROM w; ROLLBACK";
	my $number = one_of([ qw(0 1 -1 10 100 101 0.5 1e9 1e400 NaN infinity 99999999999 '' x on) ]);
	push @statements, "BEGIN; CREATE INDEX ON letter USING banding (" . one_of([ 'fp', 'id', 'body', 'fp, id', 'fp DESC', 'fp bigint_hamming_ops', '(fp # 1)', 'fp) INCLUDE (id' ]) . ') WITH (' . one_of([ 'mu', 'fillfactor', 'nothing' ]) . " = $number); ROLLBACK",
	  "BEGIN; SET LOCAL pg_dedup." . one_of([ 'progress', 'memory_limit', 'threads', 'nothing' ]) . " = '$number'; SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM letter', '{\"distance\": 3}'), dedup('SELECT id, body FROM letter'); ROLLBACK"
	  =~ s/''''/''/r;
}

my $session = session($node, '-v', 'VERBOSITY=verbose', '-v', 'ECHO=none');
# Kilobytes of the process itself, and bytes of its memory contexts.
sub memory
{
	my ($kb) = (-r "/proc/$session->{pid}/status" ? slurp_file("/proc/$session->{pid}/status") : '') =~ /RssAnon:\s+(\d+) kB/;
	${ $session->{out} } = '';
	${ $session->{in} } .= "SELECT 'bytes ' || sum(total_bytes) FROM pg_backend_memory_contexts;\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /bytes (\d+)\n/;
	return ($kb // 0, $1);
}
# Runs all statements; gives those that end in an internal error, or in none because the session has ended.
sub run_all
{
	my ($round) = @_;
	my @bad;
	foreach my $statement (@statements)
	{
		(${ $session->{out} }, ${ $session->{err} }) = ('', '');
		# Whatever became of the transaction, the next call finds none.
		${ $session->{in} } .= "\\o /dev/null\n$statement;\nROLLBACK;\n\\o\n\\echo done\n";
		while (${ $session->{out} } !~ /done\n/)
		{
			unless ($session->{run}->pumpable) { return (@bad, "the session ends: $statement: ${ $session->{err} }"); }
			eval { IPC::Run::pump($session->{run}); 1 } or return (@bad, "$statement: $@");
		}
		push @bad, "$statement: ${ $session->{err} }" if ${ $session->{err} } =~ /(ERROR|FATAL|PANIC):  XX|server closed|connection to server was lost/;
	}
	return @bad;
}
${ $session->{in} } .= "SET client_min_messages = error; SET statement_timeout = '20s'; SET pg_dedup.memory_limit = '64MB'; SET work_mem = '4MB';\n";
my @bad = run_all('first');
is(join("\n", @bad[ 0 .. ($#bad > 9 ? 9 : $#bad) ]), '', 'the first time: no crash, no internal error in ' . @statements . ' calls');
my ($rss, $bytes) = memory();
@bad = run_all('second');
is(join("\n", @bad[ 0 .. ($#bad > 9 ? 9 : $#bad) ]), '', 'the second time');
my ($rss_after, $bytes_after) = memory();
note "contexts $bytes, then $bytes_after bytes; process $rss, then $rss_after kB";
# Plans and catalogue entries of what the calls have made and undone come and go.
cmp_ok($bytes_after, '<', $bytes + 4_000_000, 'memory contexts do not grow when the same calls are made again');
cmp_ok($rss_after, '<', $rss + 32_000, 'nor does the process');
is(scalar_of($node, "SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND locktype IN ('userlock', 'advisory', 'relation')"), '0', 'no lock is left');
finish_session($session);
is_sound($node, 'letter', 'letter_fp', 'after all calls', queries => 2);
log_is_clean($node, 'calls');
$node->stop;
done_testing();
