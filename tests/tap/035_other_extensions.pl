# Protects a database in which other extensions for similarity live in the same schema: each order of CREATE EXTENSION
# works, calls find our functions, and no object of ours has the identity of one of theirs, installed or not.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('others');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->start;

my @others = qw(pg_trgm intarray vector smlar pg_similarity);
my %available = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');

# What users write, with literals; each gives the same wherever the others are.
my $calls = q{
	SELECT hamming(1::bigint, 2::bigint), 1::bigint <~> 2::bigint, near_dup(1::bigint, 2, 2), hamming_ball(1, 3) =~ hamming_ball(2, 3),
	       1::bigint <@ hamming_ball(2, 2), ngram_jaccard('water', 'waters'), ngram_containment('water', 'waters'),
	       round(simhash_cosine('water', 'waters')::numeric, 4), near_dup('water', 'water'), simhash('water'),
	       minhash_similarity(minhash('water'::text, 8), minhash('water'::text, 8)), set_jaccard(ARRAY['a'], ARRAY['a', 'b']),
	       bloom_contains(bloom_add(bloom_new(10), 'water'), 'water');
	CREATE TABLE petition (id integer, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED);
	INSERT INTO petition SELECT i, 'water ' || i FROM generate_series(1, 100) i;
	CREATE INDEX ON petition USING banding (fp);
	SET enable_seqscan = off;
	SELECT count(*) FROM petition WHERE near_dup(fp, simhash('water 7'), 0);
	DROP TABLE petition;
	SELECT hamming(B'101', B'110'), B'101' <-> B'110', near_dup(B'101', B'110', 2);
	CREATE TABLE picture (id integer, h bit(128));
	INSERT INTO picture SELECT i, ('x' || md5((i / 2)::text))::bit(128) FROM generate_series(1, 100) i;
	CREATE INDEX ON picture USING banding (h);
	EXPLAIN (COSTS OFF) SELECT id FROM picture ORDER BY h <-> '1' LIMIT 1;
	SELECT id FROM picture WHERE near_dup(h, (SELECT h FROM picture WHERE id = 8), 9) ORDER BY 1;
	DROP TABLE picture};

# In one database per order, all in the schema public.
my %orders = (
	'ours first' => sub { return ('pg_dedup', 'pg_dedup_papers', @_) },
	'ours last' => sub { return (@_, 'pg_dedup', 'pg_dedup_papers') });
my $number = 0;
$node->safe_psql('postgres', 'CREATE DATABASE alone');
$node->safe_psql('alone', 'CREATE EXTENSION pg_dedup_papers CASCADE');
my $alone = $node->safe_psql('alone', $calls);
foreach my $other (@others)
{
  SKIP:
	{
		skip "$other is not available", 2 * keys %orders unless $available{$other};
		foreach my $order (sort keys %orders)
		{
			my $database = 'beside_' . ++$number;
			$node->safe_psql('postgres', "CREATE DATABASE $database");
			my $create = join '; ', map { "CREATE EXTENSION $_" } $orders{$order}->($other);
			my ($status, undef, $error) = $node->psql($database, $create);
			is($status, 0, "beside $other, $order") or diag($error);
			is($node->safe_psql($database, $calls), $alone, "beside $other, $order: calls find ours");
		}
	}
}
$node->safe_psql('postgres', 'CREATE DATABASE together');
$node->safe_psql('together', "CREATE EXTENSION $_") foreach $orders{'ours last'}->(grep { $available{$_} } @others);
is($node->safe_psql('together', $calls), $alone, 'beside all that are available');

# And by name and argument types, whatever is available.
my $ours = $node->safe_psql('alone', q{
	SELECT CASE classid WHEN 'pg_proc'::regclass THEN 'function' || E'\t' || objid::regprocedure
	                    WHEN 'pg_operator'::regclass THEN 'operator' || E'\t' || objid::regoperator
	                    WHEN 'pg_type'::regclass THEN 'type' || E'\t' || objid::regtype
	                    WHEN 'pg_am'::regclass THEN 'access_method' || E'\t' || (SELECT amname FROM pg_am WHERE oid = objid)
	                    WHEN 'pg_opclass'::regclass THEN 'operator_class' || E'\t' || (SELECT concat(opcname, ' ', amname)
	                        FROM pg_opclass o JOIN pg_am a ON a.oid = opcmethod WHERE o.oid = objid)
	       END
	  FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
	   AND refobjid IN (SELECT oid FROM pg_extension WHERE extname ~ '^pg_dedup')});
my %is_ours = map { $_ => 1 } split /\n/, $ours;
ok($is_ours{"function\thamming(bigint,bigint)"} && $is_ours{"operator\t<~>(bigint,bigint)"} && $is_ours{"type\tbloom"}, 'ours are listed');
my (%theirs, %shared);
foreach (split /\n/, slurp_file("$FindBin::Bin/lib/other_extensions.tsv"))
{
	my ($extension, $kind, $identity) = split /\t/;
	next unless defined $identity;
	push @{ $theirs{$extension} }, "$kind\t$identity";
	# The name alone: overloads can make a call with literals ambiguous.
	my ($name) = $identity =~ /^([^(]+)\(/;
	$shared{$name} = 1 if $kind eq 'function' && grep { /^function\t\Q$name\E\(/ } keys %is_ours;
}
is(join(' ', sort keys %theirs), 'pg_similarity pg_trgm smlar vector', 'theirs are listed');
foreach my $extension (sort keys %theirs)
{
	is(join(', ', grep { $is_ours{$_} } @{ $theirs{$extension} }), '', "nothing of ours is called as in $extension");
}
# pg_similarity has hamming(bit varying, bit varying).
is(join(' ', sort keys %shared), 'hamming', 'a function of one name with one of theirs is known');

$node->stop;
done_testing();
