# Protects searches beside everything that changes the index: eight clients
# insert, delete, update and search while VACUUM, in every mode, removes entries
# and gives hot buckets their second level. Every search is compared, in one snapshot, with
# a pass over the table: it finds all rows committed before it began.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('load', conf => "shared_buffers = 4MB\nmin_parallel_index_scan_size = 0\n");
my $n = rows(8_000);
my $seconds = int(12 * ($ENV{DEDUP_TEST_SCALE} // 1) ** 0.5);
$node->safe_psql('postgres', "CREATE SEQUENCE ids START 1000000");

my $version = `pg_config --version` =~ /(\d+)/ ? $1 : 0;
my @modes = ('SKIP_LOCKED', 'FULL', 'FREEZE, ANALYZE', 'INDEX_CLEANUP off', 'INDEX_CLEANUP on, TRUNCATE off', 'DISABLE_PAGE_SKIPPING', 'PARALLEL 2',
	'PARALLEL 0, PROCESS_TOAST off', $version >= 16 ? 'BUFFER_USAGE_LIMIT 128, SKIP_DATABASE_STATS' : 'VERBOSE false');

foreach my $shape ('hot', 'duplicates', 'uniform')
{
	# A third of the hot ones are in one bucket, which is hot above some 3,260 rows: from the start, however little a slow machine adds.
	my $rows = $shape eq 'duplicates' ? 2000 : $shape eq 'hot' ? 15_000 : $n;
	my $table = "t_$shape";
	$node->safe_psql('postgres', "CREATE TABLE $table (id bigint, fp bigint); CREATE INDEX ON $table (id);
		CREATE INDEX ${table}_idx ON $table USING banding (fp) WITH (mu = 0);
		INSERT INTO $table SELECT i, test.fp('$shape', i) FROM generate_series(1, $rows) i");
	my %script = (
		'insert@4' => "INSERT INTO $table SELECT nextval('ids'), test.fp('$shape', i) FROM (SELECT (random() * $rows)::bigint + 1 AS i FROM generate_series(1, 5)) r;\n",
		'delete@3' => "\\set i random(1, $rows)\nDELETE FROM $table WHERE fp = test.fp('$shape', :i) AND hashint8(id) % 5 = 0 AND id > 4711;\n",
		'update@2' => "\\set i random(1, $rows)\nUPDATE $table SET fp = test.flip(fp, 2, :i) WHERE id = :i;\n",
		'abort@1' => "BEGIN;\nINSERT INTO $table SELECT nextval('ids'), test.fp('$shape', i) FROM generate_series(1, 20) i;\nROLLBACK;\n",
		'search@5' => "\\set i random(1, $rows)\n\\set r random(0, 12)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.agree('$table', test.fp('$shape', :i), :r);\nCOMMIT;\n",
		'near@5' => "\\set i random(1, $rows)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.agree('$table', test.fp('$shape', :i), 3);\nCOMMIT;\n",
		# As little as against a wraparound, which leaves indexes alone.
		'failsafe@0.1' => "SET vacuum_failsafe_age = 0;\nVACUUM $table;\nRESET vacuum_failsafe_age;\n",
		map { ("vacuum$_\@0.1" => "VACUUM ($modes[$_]) $table;\n") } 0 .. $#modes);
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my @files;
	foreach my $name (sort keys %script)
	{
		my ($base, $weight) = split /@/, $name;
		append_to_file("$directory/$base.sql", $script{$name});
		# Ten times as often, for a weight is a whole number.
		push @files, '-f', "$directory/$base.sql\@" . 10 * $weight;
	}
	my $log = -s $node->logfile;
	my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 8, '-j', 1, '-T', $seconds, @files, $node->connstr('postgres') ]);
	unlike($err, qr/ERROR|aborted|FATAL/, "$shape: no client failed, no search was wrong");
	my ($done) = $out =~ /actually processed: (\d+)/;
	cmp_ok($done // 0, '>', 100, "$shape: work was done");
	is_sound($node, $table, "${table}_idx", "$shape, after the load", queries => 4);
	$node->safe_psql('postgres', "VACUUM $table");
	is_sound($node, $table, "${table}_idx", "$shape, after VACUUM", queries => 2);
	cmp_ok(scalar_of($node, "SELECT hot_buckets FROM banding_stats('${table}_idx')"), '>', 0, 'buckets are hot') if $shape eq 'hot';
	$node->safe_psql('postgres', "DROP TABLE $table");
}
log_is_clean($node, 'load');
$node->stop;
done_testing();
