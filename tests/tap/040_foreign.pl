# Protects search over postgres_fdw: with extensions 'pg_dedup' the functions and operators run on the shards, through
# their indexes, with the answers of one table; a shard that is down is an error that names it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map {
	new_node("shard_$_", conf => "session_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 0\n")
} 1 .. 2;
my $local = new_node('coordinator');
my ($ret, $out, $err) = $local->psql('postgres', 'CREATE EXTENSION postgres_fdw');
plan skip_all => 'no postgres_fdw' if $ret != 0;

my $n = rows(8_000);
$local->safe_psql('postgres', "CREATE TABLE whole (id bigint, fp bigint); CREATE TABLE place (id bigint, fp bigint) PARTITION BY HASH (id);
	INSERT INTO whole SELECT i, test.fp('uniform', i) FROM generate_series(1, $n) i");
foreach my $i (0, 1)
{
	my $shard = $shards[$i];
	# The half that hash partitioning gives it, chosen by the coordinator when it inserts.
	$shard->safe_psql('postgres', 'CREATE TABLE place (id bigint, fp bigint); CREATE INDEX place_fp ON place USING banding (fp)');
	my ($host, $port) = ($shard->host, $shard->port);
	$local->safe_psql('postgres', "CREATE SERVER shard_$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS
			(host '$host', port '$port', dbname 'postgres', extensions 'pg_dedup', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$i;
		CREATE FOREIGN TABLE place_$i PARTITION OF place FOR VALUES WITH (MODULUS 2, REMAINDER $i) SERVER shard_$i OPTIONS (table_name 'place')");
}
$local->safe_psql('postgres', 'INSERT INTO place TABLE whole');
$_->safe_psql('postgres', 'VACUUM ANALYZE place') foreach @shards;
$local->safe_psql('postgres', 'ANALYZE place; ANALYZE whole');
cmp_ok($_->safe_psql('postgres', 'SELECT count(*) FROM place'), '>', $n / 4, 'a shard has its rows') foreach @shards;

# What a plan sends, and how the shards did it.
sub sent
{
	my ($query, $remote, $name) = @_;
	my $plan = $local->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $query");
	my @remote = $plan =~ /Remote SQL: (.*)/g;
	is(scalar(@remote), 2, "$name: both shards are asked") or diag $plan;
	like($_, $remote, "$name: the shard does it") foreach @remote;
	my @from = map { -s $_->logfile } @shards;
	$local->safe_psql('postgres', $query);
	foreach my $i (0, 1)
	{
		my $log = slurp_file($shards[$i]->logfile, $from[$i]);
		like($log, qr/Index (Only )?Scan using place_fp|Bitmap Index Scan on place_fp/, "$name: by the index of shard " . ($i + 1));
	}
	return $plan;
}

my $q = $local->safe_psql('postgres', 'SELECT fp FROM whole WHERE id = 400');
my $search = "SELECT id FROM place WHERE near_dup(fp, $q, 6)";
my $nearest = "SELECT id, fp <~> $q AS d FROM place ORDER BY fp <~> $q LIMIT 7";
like(sent($search, qr/WHERE .*near_dup\(/, 'near_dup'), qr/Async Foreign Scan/, 'near_dup: the shards work side by side');
sent($nearest, qr/ORDER BY .*<~>.*/, 'the nearest');

# The shards search; together they answer as the whole table does.
foreach my $distance (0, 3, 8, 20)
{
	my $sum = 'SELECT count(*), sum(id) FROM %s WHERE near_dup(fp, test.fp($$uniform$$, 77), %d)';
	is($local->safe_psql('postgres', sprintf($sum, 'place', $distance)), $local->safe_psql('postgres', sprintf($sum, 'whole', $distance)), "within $distance");
}
my $distances = 'SELECT string_agg(d::text, $$,$$) FROM (SELECT fp <~> %s AS d FROM %s ORDER BY 1 LIMIT 50) n';
is($local->safe_psql('postgres', sprintf($distances, $q, 'place')), $local->safe_psql('postgres', sprintf($distances, $q, 'whole')), 'the fifty nearest');
my $join = 'SELECT count(*), sum(p.id) FROM (SELECT fp FROM whole WHERE id % 200 = 0) w, LATERAL (SELECT id FROM %s p WHERE near_dup(p.fp, w.fp, 8)) p';
is($local->safe_psql('postgres', sprintf($join, 'place')), $local->safe_psql('postgres', sprintf($join, 'whole')), 'a join');
my $pairs = q{SELECT count(*), sum(a), sum(b) FROM near_dup_pairs('SELECT id, fp FROM %s', '{"distance": 6}')};
is($local->safe_psql('postgres', sprintf($pairs, 'place')), $local->safe_psql('postgres', sprintf($pairs, 'whole')), 'all pairs');
$local->safe_psql('postgres', "INSERT INTO place VALUES (-5, $q); UPDATE place SET fp = fp # 1 WHERE id = -5");
is($local->safe_psql('postgres', "SELECT id FROM place WHERE near_dup(fp, $q, 1) AND id < 0"), '-5', 'a row that was written through the parent');

# The guard cannot see what another server stores: it says so, be the row's own table foreign or another partition, and never lets the row pass.
my $whole_is_guarded = 'CREATE TRIGGER g %s INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION near_dup_guard(\'fp\'%s)';
$local->safe_psql('postgres', 'CREATE TABLE mixed (id bigint, fp bigint) PARTITION BY RANGE (id); CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES FROM (0) TO (1000);'
	. q{CREATE FOREIGN TABLE mixed_there PARTITION OF mixed FOR VALUES FROM (1000) TO (2000) SERVER shard_0 OPTIONS (table_name 'place');}
	. 'CREATE INDEX ON mixed_here USING banding (fp)');
foreach (['place_0', '-5'], ['mixed', '1500'], ['mixed', '5']) {
	my ($table, $id) = @$_;
	foreach my $how (['AFTER', ''], ['AFTER', q{, 'index=none'}], ['AFTER', q{, 'action=log', 'log=pair'}], ['BEFORE', q{, 'action=skip'}], ['BEFORE', q{, 'action=flag', 'flag=id'}]) {
		$local->safe_psql('postgres', sprintf($whole_is_guarded, $how->[0], $table, $how->[1]));
		($ret, $out, $err) = $local->psql('postgres', "\\set VERBOSITY verbose\nINSERT INTO $table VALUES ($id, $q)");
		like($err, qr/0A000: trigger "g" cannot guard foreign table "(place_0|mixed_there)"/, "$table $id, @$how: refused");
		$local->safe_psql('postgres', "DROP TRIGGER g ON $table");
	}
}
$local->safe_psql('postgres', 'DROP TABLE mixed');

# A shard that is down, for a session that was connected and for a new one.
my $session = session($local, '-v', 'VERBOSITY=verbose');
my $ask = sub {
	${ $session->{$_} } = '' foreach qw(out err);
	${ $session->{in} } .= "$_[0];\n\\echo state :SQLSTATE\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /^state \w+\n/m;
	IPC::Run::pump_nb($session->{run});
	return ${ $session->{out} };
};
like($ask->($search), qr/^state 00000/m, 'both shards answer');
$shards[1]->stop('immediate');
like($ask->($search), qr/^state (08006|08001|57P01|57P02)/m, 'a connection that was open: the query fails');
like($ask->($search), qr/^state 08001/m, 'and the next one: 08001');
like(finish_session($session), qr/could not connect to server "shard_1"/, 'the error names the shard');
($ret, $out, $err) = $local->psql('postgres', $nearest);
like($err, qr/could not connect to server "shard_1"/, 'a new session: the same');
is($local->safe_psql('postgres', "SELECT count(*) > 0 FROM place_0 WHERE near_dup(fp, test.fp('uniform', 77), 64)"), 't', 'the other shard answers by itself');
$shards[1]->start;
$local->safe_psql('postgres', 'DELETE FROM place WHERE id = -5');
is($local->safe_psql('postgres', sprintf($distances, $q, 'place')), $local->safe_psql('postgres', sprintf($distances, $q, 'whole')), 'all is well again');
log_is_clean($_, 'foreign') foreach $local, @shards;
$_->stop foreach $local, @shards;
done_testing();
