# Protects whoever presses Ctrl-C: builds, searches, vacuums and inserts stop
# within a moment wherever they are, and leave no lock, no pin and no warning.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

test_seed();
my $node = new_node('cancel', conf => "deadlock_timeout = 100ms\n");
my $n = rows(150_000);
$node->safe_psql('postgres', "CREATE EXTENSION pg_buffercache;
	CREATE TABLE big (id bigint, fp bigint); INSERT INTO big SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i;
	CREATE INDEX big_idx ON big USING banding (fp) WITH (mu = 0); ANALYZE big;
	CREATE TABLE queries AS SELECT fp AS q FROM big LIMIT 100000;
	CREATE TABLE source AS SELECT * FROM big");

my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
my $by_bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off;';
# Each takes much longer than it is given.
my %work = (
	'build' => 'CREATE INDEX another_idx ON big USING banding (fp); DROP INDEX another_idx;' x 50,
	'build that spills' => "SET maintenance_work_mem = '1MB'; " . 'REINDEX INDEX big_idx;' x 50,
	'concurrent build' => 'REINDEX INDEX CONCURRENTLY big_idx;' x 50,
	'search of everything' => "$by_index SELECT count(*) FROM queries, LATERAL (SELECT FROM big WHERE fp <@ hamming_ball(q, 64)) x;",
	'bitmap of everything' => "$by_bitmap SELECT count(*) FROM queries, LATERAL (SELECT FROM big WHERE fp <@ hamming_ball(q, 64)) x;",
	'search with few answers' => "$by_index SELECT count(*) FROM queries, LATERAL (SELECT FROM big WHERE fp <@ hamming_ball(~q, 9)) x;",
	'nearest, all of them' => "$by_index SET enable_sort = off; SELECT count(*) FROM queries, LATERAL (SELECT FROM big ORDER BY fp <~> q LIMIT 1000000) x;",
	'nearest' => "$by_index SET enable_sort = off; SELECT count(*) FROM queries a, queries b, LATERAL (SELECT FROM big ORDER BY fp <~> ~b.q LIMIT 2) x;",
	'bulk insert' => 'INSERT INTO big SELECT -id, fp FROM source, generate_series(1, 50);',
	'bulk update' => 'UPDATE big SET fp = test.flip(fp, 3, id); UPDATE big SET fp = test.flip(fp, 3, -id);' x 20,
	'vacuum' => 'DELETE FROM big WHERE id < 0; SET vacuum_cost_delay = 1; SET vacuum_cost_limit = 1; VACUUM big;',
	'check' => q{SELECT banding_check('big_idx', true) FROM generate_series(1, 1000);},
	'stats' => q{SELECT banding_stats('big_idx') FROM generate_series(1, 1000);});

foreach my $name (sort keys %work)
{
	foreach my $way ('timeout', 'cancel', 'terminate', 'subtransaction')
	{
		my $log = -s $node->logfile;
		my $after = int(50 + rand 400);
		my $session = session($node);
		my $sql = $work{$name};
		if ($way eq 'timeout')
		{
			# The timeout is for a statement: the first of them must be the long one.
			${ $session->{in} } .= "SET statement_timeout = '${after}ms'; $sql\n";
		}
		elsif ($way eq 'subtransaction')
		{
			# What was open when the error came is closed with the subtransaction, and the transaction goes on.
			if ($sql =~ /CONCURRENTLY|VACUUM/ || $sql =~ /^(.*?SET .*?; )?(CREATE|REINDEX)/) { finish_session($session); next; }
			my ($settings, $rest) = $sql =~ /^((?:SET [^;]*; ?)*)(.*)$/s;
			$rest =~ s/;.*//s;
			$rest =~ s/^SELECT/PERFORM/;
			${ $session->{in} } .= "$settings SET statement_timeout = '${after}ms'; DO \$\$ BEGIN
				BEGIN $rest; EXCEPTION WHEN query_canceled THEN NULL; END;
				SET LOCAL statement_timeout = 0;
				PERFORM count(*) FROM big WHERE fp <@ hamming_ball(4711, 3); END \$\$; COMMIT; SELECT 'went on';\n";
		}
		else
		{
			${ $session->{in} } .= "$sql\n";
		}
		IPC::Run::pump_nb($session->{run});
		my $begun = time;
		while (time < $begun + $after / 1000) { IPC::Run::pump_nb($session->{run}); usleep(5000); }
		if ($way eq 'cancel' || $way eq 'terminate')
		{
			# A list of statements: cancel until the list is through.
			my $function = $way eq 'cancel' ? 'pg_cancel_backend' : 'pg_terminate_backend';
			$begun = time;
			$node->safe_psql('postgres', "SELECT $function($session->{pid})");
			my $gone = wait_until($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid})
				OR EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid} AND (state LIKE 'idle%' OR query_start > now() - interval '1s'))", 20);
			ok($gone, "$name, $way: returns");
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
		}
		else
		{
			my $done = wait_until($node, "SELECT state LIKE 'idle%' FROM pg_stat_activity WHERE pid = $session->{pid} UNION ALL SELECT true LIMIT 1", 30);
			ok($done, "$name, $way: returns");
			if ($way eq 'subtransaction')
			{
				my $said = finish_session($session);
				like($said, qr/went on/, "$name, $way: the transaction goes on");
			}
			else
			{
				$node->safe_psql('postgres', "SELECT pg_terminate_backend($session->{pid})");
			}
		}
		eval { IPC::Run::kill_kill($session->{run}, grace => 2) };
		ok(wait_until($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{pid})", 30), "$name, $way: the session ends");
		is(scalar_of($node, "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname ~ '^(big|another)' AND l.pid <> pg_backend_pid()"),
			'0', "$name, $way: nothing is locked");
		is(scalar_of($node, "SELECT count(*) FROM pg_buffercache WHERE pinning_backends > 0 AND relfilenode = pg_relation_filenode('big_idx')"),
			'0', "$name, $way: nothing is pinned");
	}
	log_is_clean($node, $name);
	my ($ret, undef, $err) = $node->psql('postgres', "SET lock_timeout = '20s'; SET statement_timeout = '300s';
		DROP INDEX IF EXISTS another_idx; DROP INDEX IF EXISTS big_idx_ccnew, big_idx_ccold, big_idx_ccnew1, big_idx_ccnew2;
		SELECT banding_check('big_idx', true)", on_error_stop => 1);
	is($err =~ s/NOTICE:.*\n?//gr =~ s/^psql:.*?: *$//gmr, '', "$name: the index is sound");
}
$node->safe_psql('postgres', "SET lock_timeout = '20s'; DELETE FROM big WHERE id < 0 OR id % 2 = 0; VACUUM big");
is_sound($node, 'big', 'big_idx', 'after all that was cancelled', queries => 2, radii => "'{0,3,7,20}'");

# An error while a scan is open, and scans that are left open, in one transaction.
my ($ret, $out, $err) = $node->psql('postgres', "$by_index DO \$\$
	DECLARE r record; c refcursor; BEGIN
		FOR i IN 1 .. 300 LOOP
			BEGIN
				FOR r IN SELECT id FROM big WHERE fp <@ hamming_ball(i, 64) LOOP
					IF r.id % 10 = 7 THEN PERFORM 1 / 0; END IF;
				END LOOP;
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			OPEN c NO SCROLL FOR SELECT id FROM big ORDER BY fp <~> i;
			FETCH c INTO r;
			IF i % 2 = 0 THEN CLOSE c; END IF;
			c := NULL;
		END LOOP;
	END \$\$; SET lock_timeout = '5s'; BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM big WHERE fp <@ hamming_ball(0, 30);
	FETCH 2 FROM c; SAVEPOINT s; DECLARE d CURSOR FOR SELECT id FROM big WHERE fp <@ hamming_ball(0, 40); FETCH 3 FROM d; ROLLBACK TO s; FETCH 2 FROM c; COMMIT; FETCH 1 FROM c; CLOSE c;
	DROP INDEX big_idx");
is($err, '', 'errors within open scans');
log_is_clean($node, 'cancel');
$node->stop;
done_testing();
