# Protects the promise of the index: the answers of a sequential scan, at any
# radius and for any number of neighbours, whatever the data look like and
# however the index came to be what it is. DEDUP_TEST_SHAPE picks one shape.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('answers');
my %rows = (uniform => rows(20_000), skewed => rows(20_000), hot => rows(30_000), duplicates => 106_000);

foreach my $shape (grep { !$ENV{DEDUP_TEST_SHAPE} or $_ eq $ENV{DEDUP_TEST_SHAPE} } sort keys %rows)
{
	my $n = $rows{$shape};
	# A search that finds 100,000 rows takes its time: fewer of them.
	my %o = $shape eq 'duplicates' ? (queries => 2, radii => "'{0,1,3,4,7,10,20}'") : ();
	my ($table, $index) = ($shape, "${shape}_fp_idx");
	$node->safe_psql('postgres', "CREATE TABLE $table (id bigint, fp bigint)");

	# Built over half of the rows.
	my $half = int($n / 2);
	fill($node, $table, $shape, 1, $half);
	$node->safe_psql('postgres', "CREATE INDEX ON $table USING banding (fp); ANALYZE $table");
	is_sound($node, $table, $index, "$shape, built", %o);

	# The other half inserted.
	fill($node, $table, $shape, $half + 1, $n);
	is_sound($node, $table, $index, "$shape, inserted into", %o);

	# VACUUM counts buckets and gives hot ones their second level.
	$node->safe_psql('postgres', "VACUUM $table");
	is_sound($node, $table, $index, "$shape, after VACUUM", %o);

	# Half deleted, in both halves.
	$node->safe_psql('postgres', "DELETE FROM $table WHERE hashint8(id) % 2 = 0; VACUUM $table");
	is_sound($node, $table, $index, "$shape, half deleted", %o);

	# New rows take the deleted ones' places in the heap.
	fill($node, $table, $shape, $n + 1, $n + int($n / 5));
	is_sound($node, $table, $index, "$shape, filled up again", %o);

	$node->safe_psql('postgres', "REINDEX INDEX $index");
	is_sound($node, $table, $index, "$shape, after REINDEX", %o);

	# From an empty index, by inserts alone.
	$node->safe_psql('postgres',
		"CREATE TABLE ${table}_grown (id bigint, fp bigint); CREATE INDEX ON ${table}_grown USING banding (fp)");
	fill($node, "${table}_grown", $shape, 1, $n);
	is_sound($node, "${table}_grown", "${table}_grown_fp_idx", "$shape, grown from nothing", %o);

	# Everything deleted: emptied leaves stay and serve again.
	$node->safe_psql('postgres', "DELETE FROM ${table}_grown; VACUUM ${table}_grown");
	is(scalar_of($node, "SET enable_seqscan = off; SELECT count(*) FROM ${table}_grown WHERE fp <@ hamming_ball(4711, 64)"),
		'0', "$shape, all deleted: nothing is found");
	fill($node, "${table}_grown", $shape, 1, 500);
	is_sound($node, "${table}_grown", "${table}_grown_fp_idx", "$shape, filled after all was deleted", %o);
	$node->safe_psql('postgres', "DROP TABLE $table, ${table}_grown");
}

# Every radius there is, the whole table among the answers.
$node->safe_psql('postgres', 'CREATE TABLE wide (id bigint, fp bigint); CREATE INDEX ON wide USING banding (fp)');
fill($node, 'wide', 'hot', 1, 4000);
answers_agree($node, 'wide', 'radii to 64', radii => 'ARRAY(SELECT generate_series(0, 64))', queries => 3,
	k => "ARRAY(SELECT generate_series(1, 100)) || '{3999,4000,5000}'");

# Several conditions, and conditions beside an order.
foreach my $where (
	'fp <@ hamming_ball(%1$s, 12) AND fp <@ hamming_ball(%2$s, 30)',
	'fp <@ hamming_ball(%1$s, 30) AND fp <@ hamming_ball(%1$s, 3)',
	'fp <@ hamming_ball(%1$s, 64) AND fp <@ hamming_ball(%1$s, 0)')
{
	my ($a, $b) = map { scalar_of($node, "SELECT fp FROM wide WHERE id = $_") } (12, 24);
	my $condition = sprintf $where, "($a)::bigint", "($b)::bigint";
	foreach my $order ('', " ORDER BY fp <~> ($a)::bigint", " ORDER BY fp <~> ($b)::bigint")
	{
		my $query = "SELECT id FROM wide WHERE $condition$order";
		my $sorted = "SELECT array_agg(id ORDER BY id) FROM ($query) x";
		my $expected = scalar_of($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $sorted");
		is(scalar_of($node, "SET enable_seqscan = off; SET enable_bitmapscan = off; $sorted"),
			$expected, "index: $query");
		is(scalar_of($node, "SET enable_seqscan = off; SET enable_indexscan = off; $sorted"),
			$expected, "bitmap: $query");
	}
}
is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) FROM wide WHERE fp <@ NULL::hamming_ball'),
	'0', 'nothing is within NULL');

log_is_clean($node, 'answers');
$node->stop;
done_testing();
