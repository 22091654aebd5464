# Protects memory: a nested loop that searches 100,000 times takes no more at
# its end than at its beginning, nor does an insert of as many rows under an
# exclusion constraint, which searches for each. And dedup does not hold the
# pairs of rows of a template, each of which stands in all others. And what a
# session may take is bounded, in however many calls; and its threads.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

my $node = new_node('memory', conf => "work_mem = '4MB'\n");
my $rescans = 100_000;
$node->safe_psql('postgres', "CREATE EXTENSION pg_dedup_papers; CREATE TABLE t (id bigint, fp bigint); INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, 12000) i;
	CREATE INDEX t_idx ON t USING banding (fp) WITH (mu = 0); ANALYZE t");

# Kilobytes of memory that are the backend's own, shared buffers not counted.
sub resident
{
	my ($pid) = @_;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /RssAnon:\s+(\d+) kB/;
	return $kb;
}

my %search = (
	'index scan' => [ 'SET enable_bitmapscan = off', 'SELECT id FROM t WHERE fp <@ hamming_ball(q.fp, 3) LIMIT 2' ],
	'index scan, large radius' => [ 'SET enable_bitmapscan = off', 'SELECT id FROM t WHERE fp <@ hamming_ball(q.fp, 20) LIMIT 1' ],
	'bitmap scan' => [ 'SET enable_indexscan = off', 'SELECT id FROM t WHERE fp <@ hamming_ball(q.fp, 3) LIMIT 2' ],
	'nearest' => [ 'SET enable_sort = off', 'SELECT id FROM t ORDER BY fp <~> q.fp LIMIT 2' ],
	'NULL' => [ 'SET enable_bitmapscan = off', 'SELECT id FROM t WHERE fp <@ hamming_ball(nullif(q.fp, q.fp), 3)' ]);
SKIP:
{
	skip 'no /proc', 1 unless -r "/proc/$$/status";
	foreach my $name (sort keys %search)
	{
		my ($setting, $search) = @{ $search{$name} };
		my $session = session($node, '-v', 'ON_ERROR_STOP=1');
		my $ask = sub {
			${ $session->{out} } = '';
			${ $session->{in} } .= "$_[0];\n\\echo end\n";
			IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ || ${ $session->{err} } ne '';
			return ${ $session->{out} } =~ s/end\n//r . ${ $session->{err} };
		};
		$ask->("SET enable_seqscan = off; SET enable_memoize = off; SET enable_material = off; SET max_parallel_workers_per_gather = 0; SET jit = off; $setting");
		my $query = "SELECT q.i, x.id FROM (SELECT i, test.random_fp(i % 4000) # (i % 7) AS fp FROM generate_series(1, 2 * $rescans) i) q LEFT JOIN LATERAL ($search) x ON true";
		like($ask->("EXPLAIN $query"), qr/using t_idx|on t_idx/, "$name: the plan uses the index");
		$ask->("BEGIN; DECLARE c NO SCROLL CURSOR FOR $query");
		$ask->('MOVE FORWARD 3000 FROM c');
		my $contexts = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
		$ask->($contexts);
		my ($before, $rss) = ($ask->($contexts) + 0, resident($session->{pid}));
		$ask->("MOVE FORWARD $rescans FROM c");
		my ($after, $rss_after) = ($ask->($contexts) + 0, resident($session->{pid}));
		cmp_ok($before, '>', 100_000, "$name: contexts are measured");
		cmp_ok($after, '<=', $before + 65_536, "$name: memory contexts do not grow over $rescans rescans");
		cmp_ok($rss_after, '<=', $rss + 2_048, "$name: nor does the process");
		$ask->('COMMIT');
		is(finish_session($session) =~ s{^end\n}{}mr, '', "$name: no error");
	}

	# One statement, a search for every row; a trigger looks at the contexts.
	$node->safe_psql('postgres', "CREATE TABLE x (id bigint, fp bigint, EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~));
		CREATE TABLE seen (id bigint, bytes bigint);
		CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
			INSERT INTO seen SELECT NEW.id, sum(total_bytes) FROM pg_backend_memory_contexts; RETURN NEW; END \$\$;
		CREATE TRIGGER look BEFORE INSERT ON x FOR EACH ROW WHEN (NEW.id IN (2000, 3000, $rescans)) EXECUTE FUNCTION look()");
	$node->safe_psql('postgres', "INSERT INTO x SELECT i, test.random_fp(i) FROM generate_series(1, $rescans) i ON CONFLICT DO NOTHING");
	my $grown = scalar_of($node, "SELECT (SELECT bytes FROM seen WHERE id = $rescans) - (SELECT bytes FROM seen WHERE id = 3000)");
	cmp_ok($grown, '<', 500_000, "an insert of $rescans rows under an exclusion constraint does not grow");

	# Cursors of one session, each within the limit.
	my $holder = session($node, '-v', 'ON_ERROR_STOP=1');
	${ $holder->{in} } .= "SELECT 1;\nSET pg_dedup.memory_limit = '40MB';\nBEGIN;\n\\echo begun\n";
	IPC::Run::pump($holder->{run}) until ${ $holder->{out} } =~ /begun\n/;
	foreach my $name ('a' .. 'l')
	{
		${ $holder->{out} } = '';
		${ $holder->{in} } .= "\\set ON_ERROR_STOP 0\nDECLARE $name CURSOR FOR SELECT exact_seen(g::text) OVER (ORDER BY g) FROM generate_series(1, 300000) g;\nMOVE 250000 FROM $name;\n\\echo moved :SQLSTATE\n";
		IPC::Run::pump($holder->{run}) until ${ $holder->{out} } =~ /moved (\w+)\n/;
		last if $1 ne '00000';
	}
	like(${ $holder->{out} }, qr/moved 53400/, 'what cursors hold together is bounded');
	like(${ $holder->{err} }, qr/memory exceeds pg_dedup.memory_limit \(40960 kB\)/, 'with its message');
	finish_session($holder);

	# A session may ask for fewer threads than there are processors, not for more.
	chomp(my $processors = `nproc`);
	$node->safe_psql('postgres', 'CREATE TABLE many AS SELECT i AS id, test.random_fp(i) AS fp FROM generate_series(1, 400000) i');
	foreach my $case ([ 'max_parallel_workers_per_gather = 1024', 1 + $processors ], [ 'max_parallel_workers = 0', 1 ], [ 'max_parallel_workers_per_gather = 0', 1 ])
	{
		my ($setting, $may) = @$case;
		my ($session, $peak) = (session($node, '-v', 'ON_ERROR_STOP=1'), 0);
		${ $session->{out} } = '';
		${ $session->{in} } .= "SET $setting;\nSELECT 'pairs', count(*) FROM near_dup_pairs('SELECT id, fp FROM many', '{\"distance\": 8}');\n";
		until (${ $session->{out} } =~ /pairs\|/ || ${ $session->{err} } =~ /ERROR/)
		{
			my ($threads) = slurp_file("/proc/$session->{pid}/status") =~ /Threads:\s+(\d+)/;
			$peak = $threads if $threads > $peak;
			$session->{run}->pump_nb;
			Time::HiRes::usleep(2_000);
		}
		like(${ $session->{out} }, qr/pairs\|\d+/, "$setting: pairs are found");
		cmp_ok($peak, '<=', $may, "$setting: no more than $may threads ($peak)");
		finish_session($session);
	}

	# 200 rows of each of 150 templates: three million pairs.
	my ($words, $rows) = ("(SELECT string_agg(md5((i % 150 * 12 + k)::text), ' ') FROM generate_series(1, 12) k)", 'FROM generate_series(1, 30000) i');
	my $form = "SELECT i, $words || ' case ' || i $rows";
	my %peak;
	foreach my $least (0, 0.7)
	{
		my $session = session($node, '-v', 'ON_ERROR_STOP=1');
		${ $session->{in} } .= "SELECT 'gone', count(*) FILTER (WHERE id <> keeper) FROM dedup(\$\$$form\$\$, '{\"contained\": $least, \"method\": \"exact\"}');\n\\echo end\n";
		IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ || ${ $session->{err} } ne '';
		like(${ $session->{out} }, qr/gone\|0$/m, "contained $least: rows of a template are left alone");
		($peak{$least}) = slurp_file("/proc/$session->{pid}/status") =~ /VmHWM:\s+(\d+) kB/;
		finish_session($session);
	}
	cmp_ok($peak{0.7}, '<=', $peak{0} + 40 * 1024, "contained: takes no memory for pairs ($peak{0} kB without, $peak{0.7} kB with)");

	# Records of these templates: partners of a row are few.
	my $session = session($node, '-v', 'ON_ERROR_STOP=1');
	${ $session->{in} } .= "SELECT 'rows', count(*) FROM dedup(\$\$SELECT i, $words, 'case', i $rows\$\$, '{\"method\": \"records\"}');\n\\echo end\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ || ${ $session->{err} } =~ /ERROR/;
	like(${ $session->{out} }, qr/rows\|30000$/m, 'records of a template are answered');
	my ($records) = slurp_file("/proc/$session->{pid}/status") =~ /VmHWM:\s+(\d+) kB/;
	finish_session($session);
	cmp_ok($records, '<=', $peak{0} + 100 * 1024, "records: takes no memory for pairs ($peak{0} kB without, $records kB with)");
}
log_is_clean($node, 'memory');
$node->stop;
done_testing();
