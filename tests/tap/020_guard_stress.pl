# Eight writers store near-duplicates at once, through each kind of guard and
# through the constraint; afterwards every pair is counted. STRESS_SECONDS
# sets how long each kind is written to.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{STRESS_SECONDS} || 3;
my $node = PostgreSQL::Test::Cluster->new('guard');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_dedup;
	-- Who is rejected goes on, as an application does.
	CREATE FUNCTION store(VARIADIC fps bigint[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO doc (fp) SELECT unnest(fps);
	EXCEPTION WHEN exclusion_violation THEN NULL; END $$;
	CREATE FUNCTION change(new bigint, which bigint) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN UPDATE doc SET fp = new WHERE id = (SELECT id FROM doc WHERE id >= which LIMIT 1);
	EXCEPTION WHEN exclusion_violation THEN NULL; END $$;
	CREATE FUNCTION perhaps(chance int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN IF chance < 3 THEN RAISE serialization_failure; END IF; END $$;
});

# Rows within a few bits of one of 2,000 centers.
my $near = '(hashint8extended(:%s, 0) # (1::bigint << :%s) # (1::bigint << :%s))';
my $draw = "\\set c random(1, 2000)\n\\set d random(1, 2000)\n\\set a random(0, 63)\n\\set b random(0, 63)\n"
  . "\\set chance random(1, 10)\n";
my %scripts = (
	one => $draw . 'SELECT store(' . sprintf($near, 'c', 'a', 'b') . ");\n",
	several => $draw . "BEGIN;\nSELECT store(" . sprintf($near, 'c', 'a', 'b') . ");\nSELECT store("
	  . sprintf($near, 'd', 'a', 'b') . ', ' . sprintf($near, 'c', 'b', 'b')
	  . ");\nSELECT perhaps(:chance);\nCOMMIT;\n",
	change => $draw . 'SELECT change(' . sprintf($near, 'c', 'a', 'b') . ", :d);\n",
	remove => $draw . "DELETE FROM doc WHERE id IN (SELECT id FROM doc WHERE id > :c LIMIT 1);\n");
for my $name (keys %scripts)
{
	append_to_file($node->basedir . "/$name.sql", $scripts{$name});
}

my $guard = 'FOR EACH ROW EXECUTE FUNCTION near_dup_guard';
my %kinds = (
	reject => [ 6, "CREATE TRIGGER g AFTER INSERT OR UPDATE ON doc $guard('fp', 'distance=6')" ],
	deferred => [ 6, "CREATE CONSTRAINT TRIGGER g AFTER INSERT OR UPDATE ON doc DEFERRABLE INITIALLY DEFERRED $guard('fp', 'distance=6')" ],
	skip => [ 6, "CREATE TRIGGER g BEFORE INSERT OR UPDATE ON doc $guard('fp', 'distance=6', 'action=skip')" ],
	flag => [ 6, "CREATE TRIGGER g BEFORE INSERT ON doc $guard('fp', 'distance=6', 'flag=dup_of')" ],
	constraint => [ 3, 'ALTER TABLE doc ADD EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~)' ]);
for my $kind (sort keys %kinds)
{
	my ($distance, $statement) = @{ $kinds{$kind} };
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS doc;
		CREATE TABLE doc (id bigserial PRIMARY KEY, fp bigint, dup_of bigint);
		CREATE INDEX ON doc USING banding (fp);' . $statement);
	my @mix = ('-f', $node->basedir . '/one.sql@6', '-f', $node->basedir . '/several.sql@3');
	# A deferred check fails at the end of a statement's transaction, past any handler.
	push @mix, '-f', $node->basedir . '/change.sql@2', '-f', $node->basedir . '/remove.sql@1' if $kind ne 'flag';
	my $deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";
	my $before = $node->safe_psql('postgres', $deadlocks);
	my $until = time + $seconds;
	my @clients;
	# One program a writer, started again when an error has ended it.
	for my $number (1 .. 8)
	{
		my $pid = fork;
		if ($pid == 0)
		{
			srand $$ + $number;
			open STDOUT, '>', '/dev/null';
			open STDERR, '>', '/dev/null';
			while ((my $left = $until - time) > 0)
			{
				# Of the clock alone two writers that begin together would draw the same rows.
				my $seed = int rand 2**31;
				system('pgbench', '-n', "--random-seed=$seed", '-h', $node->host, '-p', $node->port, '-T', $left, @mix, 'postgres');
			}
			require POSIX;
			POSIX::_exit(0);
		}
		push @clients, $pid;
	}
	waitpid($_, 0) for @clients;
	sleep 1;
	my ($rows, $pairs) = split /\|/, $node->safe_psql('postgres', qq{
		SET enable_indexscan = off; SET enable_bitmapscan = off; SET jit = off;
		SELECT (SELECT count(*) FROM doc), (SELECT count(*) FROM doc a JOIN doc b ON a.id < b.id
			AND hamming(a.fp, b.fp) <= $distance WHERE a.dup_of IS NULL AND b.dup_of IS NULL)});
	cmp_ok($rows, '>', 0, "$kind: rows were stored");
	is($pairs, 0, "$kind: no two of them are near-duplicates");
	# The constraint leaves deadlocks to PostgreSQL.
	is($node->safe_psql('postgres', $deadlocks), $before, "$kind: no deadlock") if $kind ne 'constraint';
	is($node->safe_psql('postgres', q{SELECT count(*) FROM doc WHERE dup_of IS NOT NULL
		AND NOT EXISTS (SELECT FROM doc o WHERE o.id = doc.dup_of)}), 0, "$kind: every flag names a row");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}), 0,
		"$kind: no lock is left");
}
done_testing();
