# Protects whole-table runs from being stopped: cancelled at any moment, out of
# temp_file_limit, within bounds of memory. A run that ends in an error ends
# with the right SQLSTATE, leaves no temporary file, and its session goes on.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

test_seed();
my $node = new_node('groups', conf => "shared_buffers = 16MB\nwork_mem = '1MB'\nmax_parallel_workers_per_gather = 1\n");
$node->safe_psql('postgres', 'CREATE EXTENSION pg_dedup_papers');
my $n = rows(120_000);
my $few = int($n / 8);
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE t AS
		SELECT i AS id, 'petition ' || i / 2 || repeat(chr(19968 + i % 3000), 20) AS body,
		       CASE WHEN i % 3 = 0 THEN test.flip(test.random_fp(i / 3), 3, i) ELSE test.random_fp(i) END AS fp
		  FROM generate_series(1, $n) i; ANALYZE t");
my $answers = "SELECT 'went on ' || count(*) FROM near_dup_pairs('VALUES (1, 5::bigint), (2, 4)');
	SELECT 'left ' || count(*) FROM pg_ls_tmpdir()";

# Each is done over and over within one statement, so that a moment falls
# anywhere in it: reading, sorting, computing on threads, verifying, writing.
sub again { return "SELECT count(*) FROM generate_series(1, 1000000) g, LATERAL ($_[0] OFFSET 0) x" }
my $own = q{'SELECT id, body, fp FROM t WHERE ' || g || ' > 0'};
my $options = q{'{"fp": "fp", "distance": 6, "similarity": 0.5, "n": 2, "details": []%s}'};
my %work = (
	'near_dup_pairs' => again(q{SELECT * FROM near_dup_pairs('SELECT id, fp FROM t WHERE ' || g || ' > 0', '{"distance": 5}')}),
	'near_dup_pairs, many answers' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, fp & 7 FROM t', '{"distance": 1}')},
	'near_dup_pairs, wide' => again(q{SELECT * FROM near_dup_pairs('SELECT id, fp FROM t WHERE ' || g || ' > 0', '{"distance": 14}')}),
	'dedup' => again("SELECT * FROM dedup($own, " . sprintf($options, '') . ')'),
	'dedup with a diameter' => again("SELECT * FROM dedup($own, " . sprintf($options, ', "diameter": 7') . ')'),
	'dedup by single pass' => again("SELECT * FROM dedup($own, " . sprintf($options, ', "group": "single_pass"') . ')'),
	'dedup that makes fingerprints' => again(q{SELECT * FROM dedup('SELECT id, body FROM t WHERE ' || g || ' > 0', '{"recipe": {}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}')}),
	'near_dup_component' => again('SELECT near_dup_component(fp, 5) OVER () FROM t WHERE g > 0'),
	'near_dup_component with a diameter' => again('SELECT near_dup_component(fp, 6, 7) OVER () FROM t WHERE g > 0'),
	'single_pass' => again('SELECT single_pass(fp, 5) OVER () FROM t WHERE g > 0'),
	'exact_seen' => again('SELECT exact_seen(body) OVER () FROM t WHERE g > 0'),
	'trie_seen' => again('SELECT trie_seen(body) OVER () FROM t WHERE g > 0'),
	'bloom_seen' => again('SELECT bloom_seen(body) OVER () FROM t WHERE g > 0'),
	'bloom_seen in passes' => again('SELECT bloom_seen(body, passes => 7) OVER () FROM t WHERE g > 0'));

my $turn = 0;
foreach my $name (sort keys %work)
{
	foreach my $after (5, 40, 90, 160, 250, 400, 700, 1100)
	{
		# In memory and through files, on one thread and on three. The limit ends with the transaction: a statement that
		# takes it back could come too late itself.
		my $settings = 'SET work_mem = ' . ($turn % 2 ? "'64kB'" : "'64MB'") . '; SET pg_dedup.threads = ' . (1, 3, 0)[ $turn % 3 ];
		$turn++;
		my (undef, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$settings; BEGIN; SET LOCAL statement_timeout = ${after};
			$work{$name}; ROLLBACK; $answers", on_error_stop => 0);
		like($err, qr/ERROR:  57014: /, "$name, after $after ms: cancelled");
		like($out, qr/^went on 1\nleft 0$/, "$name, after $after ms: nothing is left, and the session goes on");
	}
	# An error that is caught: what was open is closed with the subtransaction.
	my $perform = $work{$name} =~ s/^SELECT/PERFORM/r;
	my (undef, $out, $err) = $node->psql('postgres', "SET work_mem = '64kB'; SET statement_timeout = 300; DO \$\$ BEGIN
			BEGIN $perform; EXCEPTION WHEN query_canceled THEN NULL; END;
			SET LOCAL statement_timeout = 0;
			RAISE NOTICE 'left %', (SELECT count(*) FROM pg_ls_tmpdir());
		END \$\$; SET statement_timeout = 0; $answers", on_error_stop => 0);
	like($err, qr/NOTICE:  left 0/, "$name: nothing is left after a subtransaction");
	like($out, qr/went on 1/, "$name: the session goes on after a subtransaction");
	# By another session, and not only the query but the session too.
	foreach my $function ('pg_cancel_backend', 'pg_terminate_backend')
	{
		my $session = session($node);
		${ $session->{in} } .= "\\set VERBOSITY verbose\nSET work_mem = '64kB';\n$work{$name};\n";
		my $begun = time;
		while (time < $begun + 0.1 + rand 0.4) { IPC::Run::pump_nb($session->{run}); usleep(5000); }
		$node->safe_psql('postgres', "SELECT $function($session->{pid})");
		my $gone = wait_until($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid} AND state = 'active')", 60);
		ok($gone, "$name, $function: stops");
		my $said = finish_session($session);
		like($said, qr/57014/, "$name, $function: with its SQLSTATE") if $function eq 'pg_cancel_backend';
		is(scalar_of($node, 'SELECT count(*) FROM pg_ls_tmpdir()'), '0', "$name, $function: nothing is left");
	}
	log_is_clean($node, $name);
}

# Out of temporary files, at whatever is written when the limit is met: rows,
# hashes, partitions, pairs in order, the result.
my $some = "SELECT id, body, fp FROM t WHERE id <= $few";
my %limited = (
	'near_dup_pairs' => "near_dup_pairs('SELECT id, fp FROM t WHERE id <= $few', '{\"distance\": 12}')",
	'near_dup_pairs, many answers' => "near_dup_pairs('SELECT id, fp & 1023 FROM t WHERE id <= $few', '{\"distance\": 1}')",
	'dedup' => "dedup('$some', '{\"fp\": \"fp\", \"distance\": 12}')",
	'dedup with a diameter' => "dedup('$some', '{\"fp\": \"fp\", \"distance\": 14, \"diameter\": 14, \"similarity\": 0}')",
	'dedup by single pass' => "dedup('$some', '{\"fp\": \"fp\", \"distance\": 14, \"group\": \"single_pass\", \"similarity\": 0}')");
foreach my $name (sort keys %limited)
{
	my $truth = scalar_of($node, "SELECT count(*) FROM $limited{$name}");
	my ($failed, $passed) = (0, 0);
	for (my $limit = 64; $limit <= 1 << 20 && $passed == 0; $limit = int($limit * 1.5))
	{
		my (undef, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning; SET work_mem = '64kB'; SET temp_file_limit = $limit;
			SELECT 'rows ' || count(*) FROM $limited{$name}; SELECT 'left ' || count(*) FROM pg_ls_tmpdir(); SET temp_file_limit = -1; $answers", on_error_stop => 0);
		if ($err eq '')
		{
			$passed++;
			is($out, "rows $truth\nleft 0\nwent on 1\nleft 0", "$name, $limit kB of files: enough");
		}
		else
		{
			$failed++;
			like($err, qr/ERROR:  53400: /, "$name, $limit kB of files: too little");
			is($out, "left 0\nwent on 1\nleft 0", "$name, $limit kB of files: nothing is left, and the session goes on");
		}
	}
	cmp_ok($failed, '>=', 3, "$name: the limit was met in several places");
	is($passed, 1, "$name: and was high enough at last");
}
log_is_clean($node, 'temp_file_limit');

# What a run says: every stage, before the first pair too, and nothing if it is over soon.
my $verbose = "SET pg_dedup.progress = '1ms'";
my (undef, undef, $said) = $node->psql('postgres', "$verbose; SELECT count(*) FROM dedup('SELECT id, body FROM t WHERE id <= $few', '{\"n\": 2, \"distance\": 10}')");
like($said, qr/NOTICE:  dedup: reading: \d+ rows, \d+ a second/, 'dedup says how many rows it has read');
like($said, qr/NOTICE:  dedup: reading: $few rows, \d+\.\d s/, 'and at the end of the stage how many there are');
like($said, qr/NOTICE:  dedup: comparing exactly: \d+ exact copies/, 'how many copies there are');
like($said, qr/NOTICE:  dedup: making fingerprints: \d+ fingerprints/, 'how many fingerprints');
like($said, qr/NOTICE:  dedup: finding near fingerprints and verifying them: \d+ % done/, 'the share of the search');
like($said, qr/candidate pairs within 10 bits, \d+ compared, \d+ verified/, 'what was found');
like($said, qr/NOTICE:  dedup: writing the result: $few rows: \d+ kept, \d+ exact and \d+ near duplicates/, 'the sum of it all');
(undef, undef, $said) = $node->psql('postgres', "$verbose; SELECT count(*) FROM dedup('$some', '{\"fp\": \"fp\", \"diameter\": 9}')");
like($said, qr/NOTICE:  dedup: finding near fingerprints: [1-9]\d* % done, \d+ s left/, 'the share of a search for pairs to be sorted');
like($said, qr/NOTICE:  dedup: grouping near pairs: \d+ pairs compared, \d+ verified/, 'what came of it');
my $lonely = "near_dup_pairs('SELECT i::bigint, test.random_fp(i) FROM generate_series(1, $n) i', '{\"distance\": 5}')";
foreach my $settings ("work_mem = '64MB'", "work_mem = '64kB'")
{
	(undef, undef, $said) = $node->psql('postgres', "SET $settings; $verbose; SELECT count(*) FROM $lonely");
	like($said, qr/NOTICE:  near_dup_pairs: finding pairs: [1-9]\d* % done, \d+ s left, 0 pairs/, "near_dup_pairs says how far it is before the first pair, $settings");
	like($said, qr/NOTICE:  near_dup_pairs: finding pairs: \d+ pairs, /, "and what it found, $settings");
}
(undef, undef, $said) = $node->psql('postgres', "SELECT count(*) FROM $lonely; SELECT count(*) FROM dedup('$some', '{\"fp\": \"fp\", \"distance\": 10, \"similarity\": 0.5, \"n\": 2, \"details\": []}')");
is($said, '', 'nothing is said of what takes less than ten seconds');

# Memory: the rows of a query beyond work_mem are not in it.
SKIP:
{
	skip 'no /proc', 1 unless -r "/proc/$$/status";
	my $many = 600_000;
	my $peak = "SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')";
	my $source = "SELECT i::bigint AS id, (CASE WHEN i % 2 = 0 THEN ''text'' ELSE ''other'' END) AS body, test.random_fp(i / 2) # (i % 2) AS fp FROM generate_series(1, $many) i";
	my $measure = sub {
		my ($query) = @_;
		# A first run of few rows touches what any run touches.
		my ($before, undef, $after) = split /\n/, $node->safe_psql('postgres', "SET work_mem = '4MB'; SET pg_dedup.threads = 2;
			DO \$\$ BEGIN PERFORM * FROM @{[ $query =~ s/$many/1000/r ]}; END \$\$; $peak; SELECT count(*) FROM $query; $peak");
		return $after - $before;
	};
	# In memory the rows would take 24 MB, and what sorts them as much again.
	cmp_ok($measure->("near_dup_pairs('SELECT id, fp FROM ($source) s')"), '<', 20_000, 'near_dup_pairs keeps to work_mem');
	# 36 bytes a row are 21 MB; contents, hashes and pairs would be 60 MB more.
	cmp_ok($measure->("dedup('$source', '{\"fp\": \"fp\", \"distance\": 3, \"similarity\": 0, \"group\": \"single_pass\", \"equal\": \"none\"}')"),
		'<', 45_000, 'dedup keeps a few numbers a row');
}
log_is_clean($node, 'groups');
$node->stop;
done_testing();
