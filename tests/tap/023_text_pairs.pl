# Protects near_dup_pairs by text at the size of a large table of short texts: it
# can be cancelled while it reads, indexes and joins, leaves no file behind, the
# session works on; its memory is bounded by work_mem, which changes no answer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = new_node('text_pairs', conf => "max_parallel_workers_per_gather = 0\n");
my $n = rows(180_000);
# Short texts of words some of which are frequent; one in ten is an earlier one with a word more.
$node->safe_psql('postgres', "
	CREATE FUNCTION test.words(i bigint, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
		SELECT string_agg(chr(22968 + hashint4(w) % 3000) || chr(22968 + hashint4(w + 7000) % 3000), '' ORDER BY s)
		FROM (SELECT s, floor(6000 * pow(abs(hashint8extended(i, s) % 100000) / 100000.0::float8, 3))::int AS w FROM generate_series(1, n) s) x \$\$;
	CREATE TABLE short AS SELECT i AS id, test.words(i, 8 + i % 9) AS content FROM generate_series(1, $n) i WHERE i % 10 > 0
		UNION ALL SELECT i, test.words(i - 1, 8 + (i - 1) % 9) || test.words(i, 1) FROM generate_series(10, $n, 10) i;
	INSERT INTO short VALUES (-1, NULL), (-2, ''), (-3, '!?');
	ANALYZE short");

sub temporary_files
{
	return join ' ', glob($node->data_dir . '/base/pgsql_tmp/*');
}

my $find = sub { return "near_dup_pairs('SELECT id, content FROM $_[0]', '{\"method\": \"text\", \"similarity\": $_[1]}')" };

# Exactly what the comparison of all with all finds, whatever the memory.
$node->safe_psql('postgres', 'CREATE TABLE few AS SELECT * FROM short ORDER BY abs(id) LIMIT 2500');
my $digest = "count(*) || ' ' || md5(string_agg(concat_ws(' ', a, b, similarity), ',' ORDER BY a, b))";
my $truth = scalar_of($node, "SELECT $digest FROM (SELECT a.id AS a, b.id AS b, ngram_jaccard(a.content, b.content, 2) AS similarity
	FROM few a JOIN few b ON a.id < b.id) p WHERE similarity >= 0.4");
like($truth, qr/^[1-9]\d\d/, 'there are pairs to find');
for my $memory ('64kB', '4MB', '1GB')
{
	is(scalar_of($node, "SET work_mem = '$memory'; SELECT $digest FROM " . $find->('few', 0.4)), $truth, "all against all, work_mem $memory");
}

# The large table: in files or in memory the same; files only where they are needed, none left.
my %answer;
for my $memory ('2MB', '1GB')
{
	my $files = 'SELECT temp_files FROM pg_stat_database WHERE datname = current_database()';
	my $before = scalar_of($node, $files);
	$answer{$memory} = scalar_of($node, "SET work_mem = '$memory'; SELECT count(*) || ' ' || sum(hashint8(a)::bigint # hashint8(b)::bigint) FROM " . $find->('short', 0.6));
	usleep(600_000);
	my $spilled = wait_until($node, "SELECT temp_files > $before FROM pg_stat_database WHERE datname = current_database()", $memory eq '2MB' ? 20 : 1);
	is($spilled ? 'files' : 'memory', $memory eq '2MB' ? 'files' : 'memory', "work_mem $memory: where it worked");
	is(temporary_files(), '', "work_mem $memory: no file is left");
}
is($answer{'2MB'}, $answer{'1GB'}, 'the same pairs in little memory');

SKIP:
{
	skip 'no /proc', 1 unless -r "/proc/$$/status";
	my $session = session($node);
	${ $session->{in} } .= "SET work_mem = '4MB'; SELECT count(*) FROM " . $find->('short', 0.6) . ";\n\\echo end\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ || ${ $session->{err} } ne '';
	my ($kb) = slurp_file("/proc/$session->{pid}/status") =~ /VmHWM:\s+(\d+) kB/;
	my ($shared) = slurp_file("/proc/$session->{pid}/status") =~ /RssShmem:\s+(\d+) kB/;
	# All texts at once are more than 100 MB of sets and index.
	cmp_ok($kb - $shared, '<', 60_000, "work_mem 4MB bounds the process ($kb kB, $shared kB shared)");
	finish_session($session);
}

my ($ret, undef, $err) = $node->psql('postgres', "SET work_mem = '1MB'; SET temp_file_limit = '2MB'; SELECT count(*) FROM " . $find->('short', 0.6));
like($err, qr/temporary file size exceeds/, 'temp_file_limit holds');
is(temporary_files(), '', 'and no file is left');

# Cancelled at any moment, by three ways of asking; then the same session answers.
my $few = scalar_of($node, "SELECT count(*) FROM " . $find->('few', 0.4));
for my $memory ('1MB', '1GB')
{
	for my $after (0.05, 0.3, 0.8, 1.5, 2.5)
	{
		my $session = session($node);
		${ $session->{in} } .= "SET work_mem = '$memory'; SELECT count(*) FROM " . $find->('short', 0.15) . ";\n";
		IPC::Run::pump_nb($session->{run});
		my $begun = time;
		while (time < $begun + $after) { IPC::Run::pump_nb($session->{run}); usleep(5000); }
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
		$begun = time;
		ok(wait_until($node, "SELECT state LIKE 'idle%' FROM pg_stat_activity WHERE pid = $session->{pid}", 20), "work_mem $memory, cancelled after $after s");
		note sprintf('%.2f s', time - $begun);
		is(temporary_files(), '', "work_mem $memory, after $after s: no file is left");
		${ $session->{in} } .= "SELECT 'again ' || count(*) FROM " . $find->('few', 0.4) . ";\n";
		like(finish_session($session), qr/again $few.*canceling statement/s, "work_mem $memory, after $after s: the session works on");
	}
}
my $session = session($node);
${ $session->{in} } .= "BEGIN; SAVEPOINT s; SET LOCAL statement_timeout = '700ms'; SET LOCAL work_mem = '1MB'; SELECT count(*) FROM " . $find->('short', 0.15) . ";
	ROLLBACK TO s; SELECT 'again ' || count(*) FROM " . $find->('few', 0.4) . "; COMMIT;\n";
like(finish_session($session), qr/again $few.*statement timeout/s, 'a timeout in a subtransaction: the transaction goes on');
is(temporary_files(), '', 'a timeout: no file is left');

# What cannot be worked on is an error before memory is taken.
for my $case (
	[ "SELECT NULL::bigint, 'x'", '22004', 'a text without an id' ],
	[ "SELECT 1, repeat('停水了', 6000000)", '54000', 'a text of 54 MB' ],
	[ 'SELECT 1', '42804', 'one column' ],
	[ "SELECT 'x', 'y'", '42804', 'an id of another type' ])
{
	my ($query, $state, $name) = @$case;
	my $quoted = $query =~ s/'/''/gr;
	(undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT count(*) FROM near_dup_pairs('$quoted', '{\"method\": \"text\"}')");
	like($err, qr/ERROR:  $state/, "$name: $state");
}
log_is_clean($node, 'text pairs');
$node->stop;
done_testing();
