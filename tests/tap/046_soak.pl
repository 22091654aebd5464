# Protects a server that stays up: eight clients do everything at once, and a standby is searched, for 40 seconds (an hour
# with scripts/test --long). No answer is wrong, no near row passes a guard or a constraint, memory does not grow, and the
# index stays within a factor of one that is built anew.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use Load;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{DEDUP_TEST_SECONDS} // ($ENV{DEDUP_TEST_LONG} ? 3600 : 40);
my $n = rows(3_000);
my $primary = new_node('soak', standby => 1, conf => "wal_consistency_checking = 'Generic'\nautovacuum = on\nautovacuum_naptime = 1s\nmax_wal_size = 512MB\n");
make_tables($primary, $n);
$primary->backup('base');
# However far it falls behind on a busy machine, its log is kept.
$primary->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby')");
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# Queries there must not be cancelled.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nprimary_slot_name = 'standby'\n");
$standby->start;

my $directory = PostgreSQL::Test::Utils::tempdir;
append_to_file("$directory/read.sql", "\\set i random(1, $n)\n\\set r random(0, 12)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT test.agree('t', test.fp('hot', :i), :r);\nCOMMIT;\n");
my @load = map { my ($node, @arguments) = @$_; my ($out, $err) = ('', '');
	{ out => \$out, err => \$err, node => $node, run => IPC::Run::start([ 'pgbench', '-n', '-j', 1, '-T', $seconds, @arguments, $node->connstr('postgres') ], '>', \$out, '2>', \$err) } }
  [ $primary, '-c', 8, clients($n) ], [ $standby, '-c', 1, '-f', "$directory/read.sql" ];

# Kilobytes of each process that serves a client.
sub memory
{
	my %kb;
	foreach my $load (@load)
	{
		foreach my $pid (split /\n/, scalar_of($load->{node}, "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'"))
		{
			next unless -r "/proc/$pid/status";
			($kb{$pid}) = slurp_file("/proc/$pid/status") =~ /RssAnon:\s+(\d+) kB/;
		}
	}
	return \%kb;
}
my $begun = time;
sub until_share { my ($share) = @_; while (time < $begun + $share * $seconds) { IPC::Run::pump_nb($_->{run}) foreach grep { $_->{run}->pumpable } @load; usleep(50_000); } return; }
until_share(0.5);
my $half = memory();
until_share(0.9);
my $end = memory();
foreach my $load (@load)
{
	eval { IPC::Run::finish($load->{run}) };
	unlike(${ $load->{err} }, qr/ERROR|aborted|FATAL/, $load->{node}->name . ': no client failed, no search was wrong');
	my ($done) = ${ $load->{out} } =~ /actually processed: (\d+)/;
	cmp_ok($done // 0, '>', 20, $load->{node}->name . ': work was done');
	note $load->{node}->name . ": $done transactions in $seconds s";
}
# Caches fill, and the first call of a kind may come late.
my @grown = grep { defined $half->{$_} && $end->{$_} > $half->{$_} + 32_768 } keys %$end;
is(join(' ', map { "$half->{$_} kB, then $end->{$_} kB" } @grown), '', 'no process has grown in the second half');

ok(wait_until($primary, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'"), 'all clients have gone');
$primary->safe_psql('postgres', "CALL dedup_into('result', 'letter')");
invariants($primary, 'soak');
is(scalar_of($primary, 'SELECT (SELECT count(*) FROM letter) - (SELECT count(*) FROM result)'), '0', 'dedup_into: every row is there');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
is_sound($standby, 't', 't_idx', 'standby', queries => 2, radii => "'{0,3,7,20}'", k => "'{10}'");
my $figures = "SELECT (SELECT count(*) FROM t), pg_relation_size('t_idx')";
$primary->safe_psql('postgres', 'VACUUM t');
my ($rows, $size) = split /\|/, scalar_of($primary, $figures);
$primary->safe_psql('postgres', 'REINDEX INDEX t_idx');
my (undef, $fresh) = split /\|/, scalar_of($primary, $figures);
note "$rows rows; index of $size bytes, built anew $fresh";
# Second levels of hot buckets take some pages each, however few their rows.
cmp_ok($size, '<', 4 * $fresh + 1_000_000, 'the index is within a factor of one that is built anew');
log_is_clean($_, 'soak') foreach $primary, $standby;
$_->stop('immediate') foreach $standby, $primary;
done_testing();
