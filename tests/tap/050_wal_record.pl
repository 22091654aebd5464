# Protects the record that small changes of the index write by hand: it does what that of GenericXLogFinish does. Two
# tables and indexes live the same life, one with pg_dedup.generic_wal. Then their records are of the same blocks in the
# same order, with full-page images of the same pages (the first change after a checkpoint) and of the same length; each
# page was changed last by the same one of them; pages are equal byte for byte, also as a crash makes them anew.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('record', conf => "full_page_writes = on\nwal_compression = off\nmax_parallel_maintenance_workers = 0\n");
$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect');
# By whom; and is PostgreSQL to find out what has changed?
my %generic = (a => 'off', b => 'on');
sub both
{
	my (@statements) = @_;
	foreach my $table (sort keys %generic)
	{
		$node->safe_psql('postgres', join ';', "SET pg_dedup.generic_wal = $generic{$table}", map { s/\bT(?=\b|_)/$table/gr } @statements);
	}
	return;
}
sub blocks { return scalar_of($node, "SELECT pg_relation_size('$_[0]') / 8192"); }
# The pages, each with its LSN before the rest. The LSN is as the machine stores it; the checksum follows it.
sub pages
{
	my ($index) = @_;
	my $hex = scalar_of($node, "SELECT string_agg(encode(get_raw_page('$index', b::integer), 'hex'), ' ' ORDER BY b) FROM generate_series(0, " . (blocks($index) - 1) . ') b');
	return map { my $page = pack 'H*', $_; my ($high, $low) = unpack 'LL', $page; [ $high << 32 | $low, substr($page, 10) ] } split / /, $hex;
}
sub lsn { return scalar_of($node, 'SELECT pg_current_wal_flush_lsn()') }
sub number { my ($high, $low) = split m{/}, shift; return hex($high) << 32 | hex $low; }
# The records of an index: where each begins, what it says of blocks, and its length if that is for images alone.
sub records
{
	my ($from, $to, $index) = @_;
	my $path = scalar_of($node, "SELECT (SELECT oid FROM pg_database WHERE datname = 'postgres') || '/' || pg_relation_filenode('$index')");
	my ($out) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-r', 'Generic', '-s', $from, '-e', $to ]);
	my @records;
	foreach my $line (grep { m{/$path\b} } split /\n/, $out)
	{
		my ($length, $start) = $line =~ m{len \(rec/tot\):\s*\d+/\s*(\d+),.* lsn: (\S+),} or die $line;
		my @changed = map { [ /blk (\d+)(?:.*?( FPW))?/ ] } split /blkref #/, $line =~ s/^.*?blkref #//r;
		push @records, { start => number($start), length => $length, blocks => join(', ', map { $_->[0] . ($_->[1] // '') } @changed),
			images => scalar(grep { $_->[1] } @changed), deltas => scalar(grep { !$_->[1] } @changed) };
	}
	return @records;
}
# The number of the record that changed each page last.
sub last_changes
{
	my ($pages, $records) = @_;
	return map { my $lsn = $_->[0]; scalar grep { $_->{start} < $lsn } @$records } @$pages;
}

my %count = (images => 0, deltas => 0, 'a' => 0, 'b' => 0);
sub compare
{
	my ($name, @statements) = @_;
	my (%record, %page);
	foreach my $table (sort keys %generic)
	{
		my $from = lsn();
		$node->safe_psql('postgres', join ";\n", "SET pg_dedup.generic_wal = $generic{$table}", map { s/\bT(?=\b|_)/$table/gr } @statements);
		$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
		foreach my $index ("${table}_plain", "${table}_scoped")
		{
			push @{ $record{$table} }, [ records($from, lsn(), $index) ];
			push @{ $page{$table} }, [ pages($index) ];
		}
	}
	foreach my $i (0, 1)
	{
		my $what = "$name, " . ('without', 'with')[$i] . ' a scope';
		my ($a, $b) = map { $record{$_}[$i] } 'a', 'b';
		cmp_ok(scalar @$a, '>', 0, "$what: there are records");
		is(join("\n", map { $_->{blocks} } @$a), join("\n", map { $_->{blocks} } @$b), "$what: of the same blocks, in the same order, with images of the same");
		is(join(' ', map { $_->{deltas} ? () : $_->{length} } @$a), join(' ', map { $_->{deltas} ? () : $_->{length} } @$b), "$what: images are of the same length");
		my ($p, $q) = map { $page{$_}[$i] } 'a', 'b';
		is(scalar(@$p), scalar(@$q), "$what: as many pages");
		is(join(' ', grep { $p->[$_][1] ne $q->[$_][1] } 0 .. $#$p), '', "$what: pages are equal");
		is(join(' ', last_changes($p, $a)), join(' ', last_changes($q, $b)), "$what: each page was changed last by the same record");
		foreach my $record (@$a) { $count{$_} += $record->{$_} foreach 'images', 'deltas'; }
		$count{a} += $_->{length} foreach grep { $_->{deltas} } @$a;
		$count{b} += $_->{length} foreach grep { $_->{deltas} } @$b;
	}
	# The pages of a checkpoint before, and these records.
	$node->stop('immediate');
	$node->start;
	foreach my $table (sort keys %generic)
	{
		foreach my $i (0, 1)
		{
			my @replayed = pages($table . ('_plain', '_scoped')[$i]);
			my $before = $page{$table}[$i];
			is(join(' ', grep { $replayed[$_][0] != $before->[$_][0] || $replayed[$_][1] ne $before->[$_][1] } 0 .. $#replayed), '', "$name, $table: a crash makes the same pages");
		}
	}
	$node->safe_psql('postgres', 'CHECKPOINT');
	return;
}

both("CREATE TABLE T (id bigint, tenant integer, fp bigint);
	INSERT INTO T SELECT i, i % 3, test.fp('hot', i) FROM generate_series(1, 3000) i",
	'CREATE INDEX T_plain ON T USING banding (fp) WITH (mu = 0)', 'CREATE INDEX T_scoped ON T USING banding (tenant, fp)');
$node->safe_psql('postgres', 'CHECKPOINT');
my $insert = "DO \$\$ BEGIN FOR i IN %d .. %d LOOP INSERT INTO T VALUES (i, i %% 3, test.fp('%s', i)); END LOOP; END \$\$";
compare('rows one by one', sprintf $insert, 10_000, 10_500, 'hot');
compare('many rows, with splits', "INSERT INTO T SELECT i, i % 3, test.fp('uniform', i) FROM generate_series(20000, 22000) i", sprintf $insert, 30_000, 30_200, 'uniform');
compare('duplicates', sprintf($insert, 40_000, 40_200, 'duplicates'), 'CHECKPOINT', sprintf $insert, 50_000, 50_200, 'skewed');
$node->append_conf('postgresql.conf', 'full_page_writes = off');
$node->reload;
compare('without full-page images', sprintf $insert, 60_000, 60_200, 'uniform');
$node->append_conf('postgresql.conf', 'full_page_writes = on');
$node->reload;
compare('after VACUUM', 'DELETE FROM T WHERE hashint8(id) % 3 = 0', 'VACUUM T', 'CHECKPOINT', sprintf($insert, 70_000, 70_500, 'hot'),
	'UPDATE T SET fp = test.flip(fp, 3, id) WHERE id % 20 = 7', 'VACUUM T', sprintf $insert, 80_000, 80_200, 'hot');
cmp_ok($count{images}, '>', 200, 'many images were compared');
cmp_ok($count{deltas}, '>', 5_000, 'and many changes');
note "$count{images} full-page images and $count{deltas} changes compared; records with changes take $count{a} bytes, by GenericXLogFinish $count{b}";
is_sound($node, $_, "${_}_plain", 'in the end', queries => 2) foreach 'a', 'b';
check_is_clean($node, "${_}_scoped", 'in the end') foreach 'a', 'b';
log_is_clean($node, 'record');
$node->stop;
done_testing();
