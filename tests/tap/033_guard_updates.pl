# Rows are stored near rows that others update at the same time without a change
# of the fingerprint: to a new place in the table, to another partition, to
# another key, in subtransactions that fail, in prepared transactions, at every
# isolation level. Afterwards no two near-duplicates stand side by side that the
# guard has not noted, and no row was turned away that had no neighbour.
# STRESS_SECONDS sets how long each kind is written to, STRESS_KIND chooses one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{STRESS_SECONDS} || 2;
my $node = PostgreSQL::Test::Cluster->new('guard_updates');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nlog_statement = none\nautovacuum = off\nmax_prepared_transactions = 20\ndeadlock_timeout = 100ms");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_dedup;
	CREATE TABLE complaint (fp bigint, what text);
	CREATE SEQUENCE next_id START 1000000;
	-- Who is rejected goes on, as an application does.
	CREATE FUNCTION try(statement text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN EXECUTE statement;
	EXCEPTION WHEN exclusion_violation OR serialization_failure OR deadlock_detected OR unique_violation THEN NULL; END $$;
	-- A row without a neighbour is stored, and nothing is noted of it.
	CREATE FUNCTION store_far(new bigint) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE stored record; near text;
	BEGIN
		BEGIN
			INSERT INTO doc (id, p, fp) VALUES (nextval('next_id'), (new & 1)::int, new) RETURNING * INTO stored;
			IF stored.id IS NULL OR stored.dup_of IS NOT NULL THEN INSERT INTO complaint VALUES (new, 'skipped or flagged'); END IF;
		EXCEPTION WHEN exclusion_violation OR serialization_failure THEN
			GET STACKED DIAGNOSTICS near = PG_EXCEPTION_DETAIL;
			INSERT INTO complaint VALUES (new, concat_ws(': ', current_setting('transaction_isolation'), SQLERRM, near));
		END;
	END $$;
	CREATE FUNCTION fail_after(statement text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN EXECUTE statement; RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero OR exclusion_violation OR serialization_failure OR deadlock_detected OR unique_violation THEN NULL;
	END $$;
});

# Few centers, so that rows are stored near those that are being updated.
my $draw = join '', map { "\\set $_->[0] random(0, $_->[1])\n" } [ c => 5 ], [ a => 63 ], [ b => 63 ], [ p => 1 ],
  [ far => 1_000_000_000_000_000 ];
my $near = '(hashint8extended(:c, 0) # (1::bigint << :a) # (1::bigint << :b))';
my $which = '(SELECT id FROM doc WHERE hamming(fp, hashint8extended(:c, 0)) <= 6 LIMIT 1)';
sub attempt { return "SELECT try(format(\$\$$_[0]\$\$, $_[1]));\n" }
my $other = "\\set c random(3, 11)\n";
my $insert = attempt('INSERT INTO doc (id, p, fp) VALUES (nextval(%L), %s, %s)', "'next_id', :p, $near");
my $touch = attempt('UPDATE doc SET touched = touched + 1 WHERE id = %s', "coalesce($which, 0)");
my %scripts = (
	insert => $insert,
	touch => $touch,
	two => "BEGIN;\n$insert${touch}COMMIT;\n",
	move => $other . attempt('UPDATE doc SET p = 1 - p WHERE id = %s', "coalesce($which, 0)"),
	key => $other . attempt('UPDATE doc SET id = nextval(%L) WHERE id = %s', "'next_id', coalesce($which, 0)"),
	upsert => $other . attempt('INSERT INTO doc (id, p, fp) VALUES (%s, %s, %s) ON CONFLICT (id, p) DO UPDATE SET fp = excluded.fp',
		"coalesce($which, 0), :p, $near"),
	upsert_same => attempt('INSERT INTO doc (id, p, fp) SELECT id, p, fp FROM doc WHERE id = %s ON CONFLICT (id, p) DO UPDATE SET touched = doc.touched + 1',
		"coalesce($which, 0)"),
	undone => $other . "BEGIN;\nSELECT fail_after(format(\$\$INSERT INTO doc (id, p, fp) VALUES (0, %s, %s)\$\$, :p, $near));\n"
	  . "SELECT fail_after(format(\$\$UPDATE doc SET touched = touched + 1, fp = %s WHERE id = %s\$\$, $near, coalesce($which, 0)));\nCOMMIT;\n",
	remove => $other . attempt('DELETE FROM doc WHERE id = %s', "coalesce($which, 0)"),
	far => "SELECT store_far(hashint8extended(:far, 1));\n",
	prepared => "BEGIN;\n$insert${touch}PREPARE TRANSACTION 'g:writer';\nCOMMIT PREPARED 'g:writer';\n");
my %weights = (insert => 8, touch => 10, two => 1, move => 2, key => 1, upsert => 1, upsert_same => 1, undone => 1, remove => 1,
	far => 2, prepared => 1);

my $guard = "FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6'";
my %kinds = (
	reject => "CREATE TRIGGER g AFTER INSERT OR UPDATE ON doc $guard)",
	of_column => "CREATE TRIGGER g AFTER INSERT OR UPDATE OF fp ON doc $guard)",
	deferred => "CREATE CONSTRAINT TRIGGER g AFTER INSERT OR UPDATE ON doc DEFERRABLE INITIALLY DEFERRED $guard)",
	no_index => "CREATE TRIGGER g AFTER INSERT OR UPDATE ON doc $guard, 'index=none')",
	skip => "CREATE TRIGGER g BEFORE INSERT OR UPDATE ON doc $guard, 'action=skip')",
	flag => "CREATE TRIGGER g BEFORE INSERT OR UPDATE ON doc $guard, 'flag=dup_of')",
	log => "CREATE TRIGGER g AFTER INSERT OR UPDATE ON doc $guard, 'log=twin')");

for my $parted (0, 1)
{
	for my $kind ($ENV{STRESS_KIND} ? $ENV{STRESS_KIND} : sort keys %kinds)
	{
		my $name = $kind . ($parted ? ', partitioned' : '');
		$node->safe_psql('postgres', 'DROP TABLE IF EXISTS doc, twin; TRUNCATE complaint;
			CREATE TABLE twin (duplicate text, original text, distance int, logged_at timestamptz);
			CREATE TABLE doc (id bigint, p int, fp bigint, touched int DEFAULT 0, dup_of text, PRIMARY KEY (id, p))'
			. ($parted ? ' PARTITION BY LIST (p); CREATE TABLE doc_0 PARTITION OF doc FOR VALUES IN (0);
				CREATE TABLE doc_1 PARTITION OF doc FOR VALUES IN (1)' : '')
			. ';CREATE INDEX ON doc USING banding (fp); CREATE INDEX ON doc (touched);' . $kinds{$kind});
		my @mix;
		for my $script (sort keys %scripts)
		{
			# The log names rows by their keys; a deferred check is past any handler.
			next if $kind eq 'log' && $script =~ /key|upsert\b/;
			next if $kind eq 'deferred' && $script =~ /far/;
			my $file = $node->basedir . "/$script.sql";
			open my $out, '>', $file or die;
			print $out $draw . $scripts{$script};
			close $out;
			push @mix, '-f', "$file\@$weights{$script}";
		}
		my $until = time + $seconds;
		my @clients;
		for my $writer (1 .. 8)
		{
			my $pid = fork;
			if ($pid == 0)
			{
				open STDOUT, '>', '/dev/null';
				open STDERR, '>', '/dev/null';
				my %level = (7 => 'repeatable\\ read', 8 => 'serializable');
				$ENV{PGOPTIONS} = "-c default_transaction_isolation=$level{$writer}" if $level{$writer};
				# Seeds of their own: two writers with the same one would store the same rows, far ones too.
				for (my $seed = $writer; (my $left = $until - time) > 0; $seed += 8)
				{
					system('pgbench', '-n', "--random-seed=$seed", '-h', $node->host, '-p', $node->port, '-D', "writer=$writer", '-T', $left, @mix, 'postgres');
				}
				require POSIX;
				POSIX::_exit(0);
			}
			push @clients, $pid;
		}
		waitpid($_, 0) for @clients;
		sleep 1;
		$node->safe_psql('postgres', "COMMIT PREPARED '$_'")
		  for split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
		my ($rows, $touched, $pairs) = split /\|/, $node->safe_psql('postgres', q{
			SET enable_indexscan = off; SET enable_bitmapscan = off; SET jit = off;
			SELECT (SELECT count(*) FROM doc), (SELECT sum(touched) FROM doc),
				(SELECT count(*) FROM doc a JOIN doc b ON a.id < b.id AND hamming(a.fp, b.fp) <= 6
					WHERE a.dup_of IS NULL AND b.dup_of IS NULL )});
		note("$name: $rows rows, touched $touched times");
		cmp_ok($rows, '>', 0, "$name: rows were stored");
		cmp_ok($touched, '>', 0, "$name: and updated");
		if ($kind eq 'log')
		{
			# The log names the nearest earlier row; of a row with neighbours each has one.
			is($node->safe_psql('postgres', q{SELECT count(*) FROM doc a WHERE EXISTS (SELECT FROM doc b WHERE a.id <> b.id
				AND hamming(a.fp, b.fp) <= 6) AND NOT EXISTS (SELECT FROM twin WHERE a.id::text IN (substring(duplicate FROM '\d+'), substring(original FROM '\d+')))}),
				0, "$name: every near-duplicate is logged");
		}
		else
		{
			is($pairs, 0, "$name: no two of them are near-duplicates");
		}
		is($node->safe_psql('postgres', 'SELECT * FROM complaint LIMIT 5'), '', "$name: nothing without a neighbour was turned away");
		is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}), 0, "$name: no lock is left");
	}
}
done_testing();
