# Protects a snapshot that has outlived old_snapshot_threshold (PostgreSQL 15 to
# 16): a search fails where VACUUM may have taken what it should have found.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $version = `pg_config --version` =~ /(\d+)/ ? $1 : 0;
plan skip_all => 'PostgreSQL 17 has no old_snapshot_threshold' if $version > 16;

# The least there is but 0, which VACUUM hardly heeds: the test waits so long.
my $node = new_node('old_snapshot', conf => 'old_snapshot_threshold = 1min');
$node->safe_psql('postgres', "CREATE TABLE t (id bigint, fp bigint);
	INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i; CREATE INDEX ON t USING banding (fp); ANALYZE t");
my %where = (
	near => 'WHERE fp <@ hamming_ball(1, 3)', all => 'WHERE fp <@ hamming_ball(1, 64)',
	bitmap => 'WHERE fp <@ hamming_ball(1, 3)', nearest => 'ORDER BY fp <~> 1 LIMIT 1');
my %old;
foreach my $search (sort keys %where)
{
	my $off = $search eq 'bitmap' ? 'enable_indexscan' : 'enable_bitmapscan';
	my $old = $old{$search} = session($node);
	${ $old->{in} } .= "SET enable_seqscan = off; SET enable_sort = off; SET $off = off;\n"
	  . "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'begun ' || count(*) FROM (SELECT FROM t $where{$search}) s;\n";
	IPC::Run::pump($old->{run}) until ${ $old->{out} } =~ /begun [1-9]/;
}
$node->safe_psql('postgres', 'DELETE FROM t');
foreach my $second (1 .. 240)
{
	sleep 1;
	next if $second % 5;
	$node->safe_psql('postgres', $_) foreach 'CREATE TABLE IF NOT EXISTS time_goes_on ()', 'VACUUM t';
	last if scalar_of($node, "SELECT rows FROM banding_stats('t_fp_idx')") eq '0';
}
is(scalar_of($node, "SELECT rows FROM banding_stats('t_fp_idx')"), '0', 'VACUUM has removed the entries');
foreach my $search (sort keys %where)
{
	${ $old{$search}{in} } .= "SELECT 'found ' || count(*) FROM (SELECT FROM t $where{$search}) s;\n";
	like(finish_session($old{$search}), qr/ERROR:  snapshot too old/, "the old snapshot is told: $search");
}
log_is_clean($node, 'old_snapshot');
$node->stop;
done_testing();
