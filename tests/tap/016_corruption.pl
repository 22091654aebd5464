# Protects the server from a damaged index: what a check or a search meets is
# reported as XX002 with the index and the block, and never crashes anything.
# An entry that is missing without a trace is found by comparing with the table.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { PAGE => 8192, BODY => 24, ENTRIES => 24 + 64 };
use constant { META => 1, LEAF => 2, INNER => 3, DIRECTORY => 4, STATES => 5 };

my $node = new_node('corruption', no_checksums => 1);
$node->safe_psql('postgres', "CREATE TABLE t (id bigint, fp bigint); INSERT INTO t SELECT i, test.fp('hot', i) FROM generate_series(1, 12000) i");

# The pages of an index as bytes, changed by a function below.
sub page_at
{
	my ($pages, $block) = @_;
	my $page = substr($$pages, $block * PAGE, PAGE);
	my ($kind, $tree, $level) = unpack('x26 C C C', $page);
	my ($used, $count) = unpack('x30 v v', $page);
	return { block => $block, kind => $kind, tree => $tree, level => $level, used => $used, count => $count, bytes => $page };
}

# The n-th page of a kind, of a tree; trees are 4 * block + sub-block.
sub find_page
{
	my ($pages, $kind, $tree, $nth) = @_;
	foreach my $block (0 .. length($$pages) / PAGE - 1)
	{
		my $page = page_at($pages, $block);
		return $page if $page->{kind} == $kind && $page->{tree} == $tree && $nth-- == 0;
	}
	die "no page of kind $kind of tree $tree";
}

sub put { my ($pages, $block, $at, $bytes) = @_; substr($$pages, $block * PAGE + $at, length $bytes) = $bytes; return $block; }

sub field
{
	my ($kind, $tree, $nth, $at, $format, $value) = @_;
	return sub {
		my ($pages) = @_;
		my $page = find_page($pages, $kind, $tree, $nth);
		$value = $value->($page) if ref $value eq 'CODE';
		return put($pages, $page->{block}, BODY + $at, pack($format, $value));
	};
}
sub child_of { my ($page, $n) = @_; return unpack('V', substr($page->{bytes}, ENTRIES + 18 * $n + 14, 4)); }
sub child
{
	my ($n, $value) = @_;
	return field(INNER, 0, 0, 64 + 18 * $n + 14, 'V', $value);
}

# Takes the last entry off a leaf, as if it had never been there.
sub forget
{
	my ($tree) = @_;
	return sub {
		my ($pages) = @_;
		my $page = find_page($pages, LEAF, $tree, 1);
		my $width = unpack('C', substr($page->{bytes}, BODY + 55, 1));
		my $used = $page->{used} - $width;
		put($pages, $page->{block}, 12, pack('v', BODY + $used));
		put($pages, $page->{block}, BODY + 6, pack('v v', $used, $page->{count} - 1));
		return put($pages, $page->{block}, BODY + $used, "\0" x $width);
	};
}

# What is done to an index; what the check says, after the block; whether a
# search of all rows meets it. A block of -1: elsewhere than where the damage is.
my @damages = (
	[ 'metapage: page magic', field(META, 0, 0, 0, 'v', 0x1234), qr/magic number/, 1 ],
	[ 'metapage: kind', field(META, 0, 0, 2, 'C', 7), qr/kind 7/, 1 ],
	[ 'metapage: index magic', field(META, 0, 0, 64, 'V', 1), qr/not the metapage/, 1 ],
	[ 'metapage: size of a page', field(META, 0, 0, 76, 'V', 4096), qr/4096 bytes/, 1 ],
	[ 'metapage: mu is no number', field(META, 0, 0, 80, 'd<', 9**9**9 / 9**9**9), qr/options/, 1 ],
	[ 'metapage: no root', field(META, 0, 0, 96, 'V', 0), qr/has no root/, 1 ],
	[ 'metapage: root beyond the end', field(META, 0, 0, 96, 'V', 1_000_000), qr/beyond the end/, 1, 1_000_000 ],
	[ 'metapage: root is the highest number', field(META, 0, 0, 96, 'V', 0xffffffff), qr/beyond the end/, 1, 0xffffffff ],
	[ 'metapage: root is the metapage', field(META, 0, 0, 96, 'V', 0), qr/has no root/, 1 ],
	[ 'metapage: another tree\'s root', field(META, 0, 0, 96, 'V', sub { unpack('x24 x112 V', $_[0]{bytes}) }), qr/where a page of the/, 1, -1 ],
	[ 'metapage: directory beyond the end', field(META, 0, 0, 160, 'V', 999_999), qr/beyond the end/, 1, 999_999 ],
	[ 'metapage: all zero', sub { put($_[0], 0, 0, "\0" x PAGE) }, qr/not the metapage/, 1 ],
	[ 'leaf: kind', field(LEAF, 0, 2, 2, 'C', 9), qr/kind 9/, 1 ],
	[ 'leaf: is an inner page', field(LEAF, 0, 2, 2, 'C', INNER), qr/contradict/, 1 ],
	[ 'leaf: tree', field(LEAF, 0, 2, 3, 'C', 4), qr/page of the/, 1 ],
	[ 'leaf: impossible tree', field(LEAF, 0, 2, 3, 'C', 200), qr/tree number 200/, 1 ],
	[ 'leaf: level', field(LEAF, 0, 2, 4, 'C', 3), qr/contradict/, 1 ],
	[ 'leaf: used beyond the page', field(LEAF, 0, 2, 6, 'v', 9000), qr/9000 bytes in use/, 1 ],
	[ 'leaf: used too small', field(LEAF, 0, 2, 6, 'v', 70), qr/layout/, 1 ],
	[ 'leaf: count', field(LEAF, 0, 2, 8, 'v', sub { $_[0]{count} + 1 }), qr/layout/, 1 ],
	[ 'leaf: low key', field(LEAF, 0, 2, 16, 'Q<', 1), qr/the key range is not the one its parent states/, 1 ],
	[ 'leaf: high key below the low one', field(LEAF, 0, 2, 34, 'Q<', 1), qr/high key/, 1 ],
	[ 'leaf: high key', field(LEAF, 0, 2, 40, 'C', 0x7f), qr/the key range is not the one its parent states/, 0 ],
	[ 'leaf: width 0', field(LEAF, 0, 2, 55, 'C', 0), qr/layout/, 1 ],
	[ 'leaf: width 15', field(LEAF, 0, 2, 55, 'C', 15), qr/layout/, 1 ],
	[ 'leaf: keys of 65 bits', field(LEAF, 0, 2, 52, 'C', 65), qr/layout/, 1 ],
	[ 'leaf: narrower keys', field(LEAF, 0, 2, 52, 'C', sub { unpack('C', substr($_[0]{bytes}, BODY + 52, 1)) - 1 }), qr/narrower/, 0 ],
	[ 'leaf: an entry of no row', sub {
			my $page = find_page($_[0], LEAF, 0, 2);
			my $width = unpack('C', substr($page->{bytes}, BODY + 55, 1));
			return put($_[0], $page->{block}, ENTRIES, "\0" x $width);
		}, qr/no row can be/, 1 ],
	[ 'leaf: link to the right', field(LEAF, 0, 2, 12, 'V', 3), qr/does not link here/, 0, -1 ],
	[ 'leaf: all zero', sub { put($_[0], find_page($_[0], LEAF, 0, 2)->{block}, 0, "\0" x PAGE) }, qr/unused page/, 1 ],
	[ 'leaf of the third block: kind', field(LEAF, 8, 2, 2, 'C', 9), qr/kind 9/, 0 ],
	[ 'leaf of a second level: kind', field(LEAF, 1, 1, 2, 'C', 9), qr/kind 9/, 0 ],
	[ 'inner: points to itself', child(2, sub { $_[0]{block} }), qr/level \d where/, 1 ],
	[ 'inner: points beyond the end', child(2, 1_000_000), qr/beyond the end/, 1, 1_000_000 ],
	[ 'inner: points to the highest number', child(2, 0xffffffff), qr/beyond the end/, 1, 0xffffffff ],
	[ 'inner: points to the metapage', child(2, 0), qr/is expected/, 1, 0 ],
	[ 'inner: points to a sibling\'s child', child(2, sub { child_of($_[0], 1) }), qr/key range/, 1, -1 ],
	[ 'inner: separators not in order', field(INNER, 0, 0, 64 + 18 * 3 + 7, 'C', 0), qr/order/, 1 ],
	[ 'inner: first separator', field(INNER, 0, 0, 64 + 7, 'C', 1), qr/the first separator is not the page's low key/, 0 ],
	[ 'inner: count', field(INNER, 0, 0, 8, 'v', 0), qr/contradict/, 1 ],
	[ 'directory: pointer', field(DIRECTORY, 0, 0, 64, 'V', 888_888), qr/beyond the end/, 1, 888_888 ],
	[ 'directory: kind', field(DIRECTORY, 0, 0, 2, 'C', STATES), qr/HotDirectory/, 1 ],
	[ 'states: impossible state', field(STATES, 0, 0, 64 + (0x5eed % 16384) / 4, 'C', 0xff), qr/state is out of range/, 1 ]);
# Another format is no corruption, and says so.
push @damages, [ 'metapage: format version', field(META, 0, 0, 72, 'V', 99), undef, 0 ];
my @missing = map { [ "an entry is missing from tree $_", forget($_) ] } (0, 4, 12, 1, 9);
my $fuzz = rows(12);

# One table and index for each, all damaged in one stop of the server.
my %file;
my $copies = @damages + @missing + $fuzz;
$node->safe_psql('postgres', join '; ', map { "CREATE TABLE t$_ AS SELECT * FROM t; CREATE INDEX t${_}_idx ON t$_ USING banding (fp) WITH (mu = 0)" } 0 .. $copies - 1);
$file{$_} = $node->data_dir . '/' . scalar_of($node, "SELECT pg_relation_filepath('t${_}_idx')") foreach 0 .. $copies - 1;
cmp_ok(scalar_of($node, "SELECT hot_buckets FROM banding_stats('t0_idx')"), '>', 0, 'there is a second level to damage');
$node->stop;

my (@where, $seed);
sub change_file
{
	my ($copy, $change) = @_;
	my $pages = slurp_file($file{$copy});
	my $block = $change->(\$pages);
	open my $handle, '+<:raw', $file{$copy} or die;
	print $handle $pages;
	close $handle;
	return $block;
}
my $copy = 0;
push @where, change_file($copy++, $_->[1]) foreach @damages, @missing;
$seed = test_seed();
foreach (1 .. $fuzz)
{
	change_file($copy++, sub {
		my ($pages) = @_;
		my $block = int rand(length($$pages) / PAGE);
		# Anywhere behind PostgreSQL's own page header, whose damage it reports itself.
		my ($from, $span) = rand() < 0.6 ? (BODY, 64) : (BODY, PAGE - BODY);
		put($pages, $block, $from + int rand $span, chr int rand 256) foreach 1 .. 1 + int rand 8;
		return $block;
	});
}
$node->start;

sub run_verbose
{
	my ($sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $stderr;
}
my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0';
my $by_bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET max_parallel_workers_per_gather = 0';
# Radius 64 reads the first block's tree, radius 3 around every 10th row all leaves, or nearly.
sub searches
{
	my ($table) = @_;
	return ("$by_index; SELECT count(*) FROM $table WHERE fp <@ hamming_ball(0, 64)",
		"$by_bitmap; SELECT count(*) FROM $table WHERE fp <@ hamming_ball(0, 64)",
		"$by_index; SELECT count(*) FROM (SELECT fp FROM t WHERE id % 10 = 0) q, LATERAL (SELECT FROM $table WHERE $table.fp <@ hamming_ball(q.fp, 3)) x",
		"$by_bitmap; SELECT count(*) FROM (SELECT fp FROM t WHERE id % 10 = 0) q, LATERAL (SELECT FROM $table WHERE $table.fp <@ hamming_ball(q.fp, 6)) x",
		"$by_index; SET enable_sort = off; SELECT count(*) FROM (SELECT fp FROM t WHERE id % 100 = 0) q, LATERAL (SELECT FROM $table ORDER BY $table.fp <~> q.fp LIMIT 20) x",
		"$by_index; SET enable_sort = off; SELECT count(*) FROM (SELECT id FROM $table ORDER BY fp <~> 0) x");
}

foreach my $n (0 .. $#damages)
{
	my ($name, undef, $says, $met, $block) = @{ $damages[$n] };
	if (!defined $says)
	{
		like(run_verbose($_), qr/ERROR:  0A000: index "t${n}_idx": index format version 99 is not supported/, "$name: $_")
		  foreach (searches("t$n"))[0], "INSERT INTO t$n VALUES (1, 1)";
		next;
	}
	$block //= $where[$n];
	my $at = $block == -1 ? '\d+' : $block;
	my $size = scalar_of($node, "SELECT pg_relation_size('t${n}_idx')");
	my $error = run_verbose("SELECT banding_check('t${n}_idx')");
	like($error, qr/ERROR:  XX002: index "t${n}_idx" is corrupted at block $at\b/, "$name: banding_check names index and block");
	like($error, $says, "$name: and says what is wrong");
	my @errors = map { run_verbose($_) } searches("t$n");
	my @met = grep { /ERROR:  XX002: index "t${n}_idx" is corrupted at block \d+: / } @errors;
	my @other = grep { $_ ne '' && !/ERROR:  XX002: index "t${n}_idx" is corrupted at block \d+: |ERROR:  XX001: could not read block/ } @errors;
	cmp_ok(scalar @met, '>', 0, "$name: a search says so too") if $met;
	is("@other", '', "$name: searches fail in no other way");
	like(run_verbose("INSERT INTO t$n SELECT * FROM t WHERE id % 5 = 0"), qr/^$|XX002/, "$name: inserting fails with XX002 or not at all");
	like(run_verbose("DELETE FROM t$n WHERE id % 3 = 0; VACUUM t$n"), qr/^$|XX002/, "$name: so does VACUUM");
	like(run_verbose("SELECT * FROM banding_stats('t${n}_idx')"), qr/^$|XX002/, "$name: so does banding_stats");
	cmp_ok(scalar_of($node, "SELECT pg_relation_size('t${n}_idx')"), '<', $size + 4_000_000, "$name: the index has not run away");
	is(run_verbose("REINDEX INDEX t${n}_idx; SELECT banding_check('t${n}_idx', true)"), '', "$name: REINDEX mends it");
}
is(run_verbose("SELECT banding_check('t0_idx')"), '', 'an index that was mended is sound');

foreach my $m (0 .. $#missing)
{
	my $n = @damages + $m;
	my $name = $missing[$m][0];
	is(run_verbose("SELECT banding_check('t${n}_idx')"), '', "$name: nothing is wrong with the index by itself");
	like(run_verbose("SELECT banding_check('t${n}_idx', true)"), qr/ERROR:  XX002: index "t${n}_idx" is corrupted .*row \(\d+,\d+\) of the table, fingerprint -?\d+, is missing/,
		"$name: comparing with the table shows it");
}

# A row inserted while the index was not told.
$node->safe_psql('postgres', "CREATE TABLE hidden (id bigint, fp bigint); CREATE INDEX hidden_idx ON hidden USING banding (fp); INSERT INTO hidden VALUES (1, 1);
	UPDATE pg_index SET indisready = false WHERE indexrelid = 'hidden_idx'::regclass");
$node->safe_psql('postgres', 'INSERT INTO hidden VALUES (2, 2)');
$node->safe_psql('postgres', "UPDATE pg_index SET indisready = true WHERE indexrelid = 'hidden_idx'::regclass");
is(run_verbose("SELECT banding_check('hidden_idx')"), '', 'a row that was never indexed: the index is sound');
like(run_verbose("SELECT banding_check('hidden_idx', true)"), qr/XX002: .*row \(0,2\) of the table, fingerprint 2, is missing/, 'but not complete');

# Random bytes: whatever they do, it is an error of this kind or none.
foreach my $n (@damages + @missing .. $copies - 1)
{
	my @bad;
	foreach my $sql ("SELECT banding_check('t${n}_idx', true)", "SELECT * FROM banding_stats('t${n}_idx')", searches("t$n"),
		"INSERT INTO t$n SELECT * FROM t WHERE id % 3 = 0", "DELETE FROM t$n WHERE id % 4 = 0; VACUUM t$n", searches("t$n"))
	{
		my $error = run_verbose($sql);
		push @bad, "$sql: $error" unless $error eq ''
		  or $error =~ /ERROR:  XX002: index "t${n}_idx"|ERROR:  0A000: index "t${n}_idx": index format (version|has features)|ERROR:  XX001: could not read block|ERROR:  XX002: heap tid from index tuple|tuple offset out of range/;
	}
	is("@bad", '', "random bytes, seed $seed, copy $n: only errors that say so");
}
log_is_clean($node, 'corruption');
$node->stop;
done_testing();
