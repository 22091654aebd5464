# Protects CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY: rows that come,
# change and go while they run are all in the index that comes out.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('concurrently');
my $n = rows(10_000);
$node->safe_psql('postgres', "CREATE TABLE t (id bigint PRIMARY KEY, fp bigint, note integer DEFAULT 0) WITH (fillfactor = 70);
	CREATE SEQUENCE t_id; INSERT INTO t (id, fp) SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i;
	SELECT setval('t_id', $n)");

# Updates of `note` alone are heap-only: chains of rows of which the index knows the root.
my %script = (
	insert => "INSERT INTO t (id, fp) SELECT nextval('t_id'), test.fp('hot', nextval('t_id')) FROM generate_series(1, 3);\n",
	update => "\\set id random(1, $n)\nUPDATE t SET fp = test.flip(fp, 3, $n + id) WHERE id = :id;\n",
	hot => "\\set id random(1, $n)\nUPDATE t SET note = note + 1 WHERE id = :id;\n",
	delete => "\\set id random(1, $n)\nDELETE FROM t WHERE id = :id;\n",
	abort => "BEGIN;\nINSERT INTO t (id, fp) SELECT nextval('t_id'), 4711;\nROLLBACK;\n");
my @files;
foreach my $name (sort keys %script)
{
	my $file = PostgreSQL::Test::Utils::tempdir . "/$name.sql";
	append_to_file($file, $script{$name});
	push @files, '-f', $file;
}

sub under_load
{
	my ($name, $work) = @_;
	my ($out, $err) = ('', '');
	# Killed when the work is done, so the number of seconds is only a bound.
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-j', 1, '-T', 600, '-M', 'prepared', @files,
			$node->connstr('postgres') ], '>', \$out, '2>', \$err);
	my $before = scalar_of($node, 'SELECT last_value FROM t_id');
	wait_until($node, "SELECT last_value > $before + 20 FROM t_id");
	$work->();
	IPC::Run::signal($load, 'INT');
	eval { IPC::Run::finish($load) };
	unlike($err, qr/ERROR|aborted|FATAL/, "$name: no client failed");
	wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	return;
}

foreach my $round (1 .. 3)
{
	my $with = ('', ' WITH (mu = 0)', ' WITH (fillfactor = 100)')[ $round - 1 ];
	under_load("round $round", sub {
		$node->safe_psql('postgres', "CREATE INDEX CONCURRENTLY t_idx ON t USING banding (fp)$with");
		check_is_clean($node, 't_idx', "round $round, created concurrently, under load still");
	});
	is(scalar_of($node, "SELECT indisvalid FROM pg_index WHERE indexrelid = 't_idx'::regclass"), 't', "round $round: the index is valid");
	is_sound($node, 't', 't_idx', "round $round, created concurrently", queries => 4);
	under_load("round $round", sub {
		$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY t_idx');
		$node->safe_psql('postgres', 'VACUUM t');
		$node->safe_psql('postgres', 'REINDEX TABLE CONCURRENTLY t');
		check_is_clean($node, 't_idx', "round $round, rebuilt concurrently, under load still");
	});
	is_sound($node, 't', 't_idx', "round $round, rebuilt concurrently", queries => 4);
	# Cancelled half way: what is left is invalid and can be dropped, or rebuilt.
	$node->psql('postgres', "SET statement_timeout = '20ms'; REINDEX INDEX CONCURRENTLY t_idx");
	$node->safe_psql('postgres', 'DROP INDEX CONCURRENTLY IF EXISTS t_idx_ccnew');
	check_is_clean($node, 't_idx', "round $round, after a rebuild that was cancelled");
	$node->safe_psql('postgres', $round < 3 ? 'DROP INDEX t_idx' : 'VACUUM FULL t');
}
is_sound($node, 't', 't_idx', 'after VACUUM FULL', queries => 4);
log_is_clean($node, 'concurrently');
$node->stop;
done_testing();
