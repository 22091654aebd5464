# dedup_into beside writers to its source and to its result: damage is healed by
# the next call, and never made by a call. Histories of one session, thousands of
# them and short; then several sessions at once, with cancels.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $seed = test_seed();
my $node = new_node('writers');

# Texts of families: within one, fingerprints are near and texts alike; two
# families have nothing in common. In the first six families every two rows are
# near, in the others a chain leads from row to row.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE pool AS SELECT f * 6 + v AS n, f AS family,
    (SELECT string_agg(chr(19968 + f * 100 + CASE WHEN p = v THEN 50 ELSE p END), '' ORDER BY p) FROM generate_series(0, 29) p) AS body,
    test.random_fp(f) # CASE WHEN f < 6 THEN 1::bigint << v ELSE (1::bigint << v * 2) - 1 END AS fp
  FROM generate_series(0, 7) f, generate_series(0, 5) v;
INSERT INTO pool VALUES (48, 8, NULL, NULL);

-- What is wrong with a result, or nothing. Its source is a table with the columns id, n, likes.
CREATE FUNCTION wrong(result text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE n bigint; truth text;
BEGIN
    EXECUTE format('CREATE OR REPLACE TEMP VIEW r AS SELECT t.*, s.likes, p.body, p.fp AS true_fp, p.family FROM %s t
        LEFT JOIN source s USING (id) LEFT JOIN pool p USING (n)', result);
    SELECT count(*) INTO n FROM source FULL JOIN r USING (id) WHERE r.arrival IS NULL OR source.n IS NULL;
    IF n > 0 THEN RETURN NEXT n || ' rows are in one of source and result'; END IF;
    SELECT count(*) INTO n FROM (SELECT FROM r GROUP BY cluster HAVING count(*) FILTER (WHERE stage IN ('kept', 'empty')) <> 1) c;
    IF n > 0 THEN RETURN NEXT n || ' clusters without one kept row'; END IF;
    SELECT count(*) INTO n FROM r WHERE NOT EXISTS (SELECT FROM r k WHERE k.id = r.keeper AND k.cluster = r.cluster AND k.stage IN ('kept', 'empty'));
    IF n > 0 THEN RETURN NEXT n || ' rows whose keeper is none'; END IF;
    SELECT count(*) INTO n FROM r JOIN r k ON k.cluster = r.cluster AND k.stage = 'kept' WHERE (r.rank, r.arrival) < (k.rank, k.arrival);
    IF n > 0 THEN RETURN NEXT n || ' rows better than the kept one'; END IF;
    SELECT count(*) INTO n FROM r WHERE same_as IS NOT NULL
        AND NOT EXISTS (SELECT FROM r f WHERE f.arrival = r.same_as AND f.same_as IS NULL AND f.cluster = r.cluster AND f.body = r.body);
    IF n > 0 THEN RETURN NEXT n || ' copies of nothing'; END IF;
    IF options ->> 'group' = 'single_pass' THEN
        SELECT count(*) INTO n FROM r WHERE NOT EXISTS (SELECT FROM r c WHERE c.arrival = r.cluster AND (c.arrival = r.arrival OR c.true_fp <~> r.true_fp <= 3));
        IF n > 0 THEN RETURN NEXT n || ' rows without their centre'; END IF;
        RETURN;
    END IF;
    SELECT count(*) INTO n FROM r GROUP BY cluster HAVING count(*) <> coalesce(sum(members) FILTER (WHERE stage = 'kept'), 1);
    IF n > 0 THEN RETURN NEXT 'a cluster is counted wrongly'; END IF;
    SELECT count(*) INTO n FROM r a JOIN r b ON a.cluster = b.cluster AND a.true_fp <~> b.true_fp > (options ->> 'diameter')::int;
    IF n > 0 THEN RETURN NEXT n || ' rows farther apart than the diameter'; END IF;
    -- A row that went leaves no trace, be it a bridge: all is as dedup has it.
    -- A similarity is NULL if a row was changed at the source when it was needed;
    -- without a hash a changed row is taken as it is.
    EXECUTE format('SELECT count(*) FROM dedup(%L, %L) d JOIN r ON r.id = d.id WHERE ((d.keeper, d.stage, d.distance) IS DISTINCT FROM (r.keeper, r.stage, r.distance)
            OR d.similarity <> r.similarity AND r.hash IS NOT NULL)',
        format('SELECT id, body, fp, likes FROM source JOIN pool USING (n) JOIN (SELECT id, arrival FROM %s) r USING (id) ORDER BY arrival', result),
        options - 'batch' - 'where') INTO n;
    IF n > 0 THEN RETURN NEXT n || ' rows that dedup has otherwise'; END IF;
END $$;

-- Rows that were changed or deleted at the source, be it that they are now as they
-- were: what arrived in between was not compared with them.
CREATE TABLE source (id integer PRIMARY KEY, n integer NOT NULL, likes integer);
CREATE TABLE touched (id integer);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO touched VALUES (OLD.id); RETURN NULL; END $$;
CREATE TRIGGER touch AFTER UPDATE OR DELETE ON source FOR EACH ROW EXECUTE FUNCTION touch();
CREATE PROCEDURE clean(result text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE id IN (SELECT id FROM touched)', result);
END $$;

CREATE PROCEDURE change_source(rows integer) LANGUAGE plpgsql AS $$
BEGIN
    CASE floor(random() * 4)
        WHEN 0 THEN DELETE FROM source WHERE id IN (SELECT id FROM source ORDER BY random() LIMIT 2);
        WHEN 1 THEN UPDATE source SET n = floor(random() * 49) WHERE id IN (SELECT id FROM source ORDER BY random() LIMIT 2);
        ELSE INSERT INTO source SELECT floor(random() * 60), floor(random() * 49), floor(random() * 5) FROM generate_series(1, rows) ON CONFLICT DO NOTHING;
    END CASE;
END $$;

CREATE PROCEDURE change_result(result text) LANGUAGE plpgsql AS $$
DECLARE few text := format('(SELECT id FROM %s ORDER BY random() LIMIT 2)', result);
BEGIN
    CASE floor(random() * 8)
        WHEN 0 THEN EXECUTE format('UPDATE %s r SET stage = ''near'', keeper = coalesce((SELECT min(id) FROM %1$s o WHERE o.cluster = r.cluster AND o.id <> r.id), r.id) WHERE stage = ''kept'' AND id IN %s', result, few);
        WHEN 1 THEN EXECUTE format('UPDATE %s SET stage = ''kept'' WHERE stage <> ''empty'' AND id IN %s', result, few);
        WHEN 2 THEN EXECUTE format('UPDATE %s SET keeper = -1 WHERE stage <> ''empty'' AND id IN %s', result, few);
        WHEN 3 THEN EXECUTE format('DELETE FROM %s WHERE stage = ''kept'' AND id IN %s', result, few);
        ELSE EXECUTE format('DELETE FROM %s WHERE id IN %s', result, few);
    END CASE;
END $$;

CREATE FUNCTION random_options() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    SELECT jsonb_build_object('fp', 'fp', 'distance', 3, 'n', 2, 'particulars', '[]'::jsonb, 'similarity', (ARRAY[0, 0.5])[1 + floor(random() * 2)::int],
        'exact', (ARRAY['text', 'text', 'normal', 'none'])[1 + floor(random() * 4)::int],
        'keep', (ARRAY['"first"', '"last"', '"longest"', '{"column": "likes"}', '{"column": "likes", "order": "desc"}']::jsonb[])[1 + floor(random() * 5)::int])
        || (ARRAY['{"group": "components"}', '{"group": "single_pass"}', '{"diameter": 2}', '{"diameter": 4}']::jsonb[])[1 + floor(random() * 4)::int] $$;

CALL dedup_into('h', 'SELECT 1 AS id, NULL::text WHERE false', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
CREATE TABLE trouble (history integer, seed float8, options jsonb, what text);
CREATE PROCEDURE histories(first integer, last integer) LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT id, body, fp, likes FROM source JOIN pool USING (n) ORDER BY id';
    options jsonb; with_batch jsonb; start float8;
BEGIN
    FOR history IN first .. last LOOP
        start := history / 1000000.0;
        PERFORM setseed(start);
        options := random_options();
        TRUNCATE source, touched;
        -- As if no row had arrived: the next call gives it other options.
        TRUNCATE h, h_merges;
        UPDATE h_state SET arrivals = 0, asked = '{}';
        FOR turn IN 1 .. 3 + floor(random() * 3) LOOP
            CALL change_source(6);
            with_batch := options || jsonb_build_object('batch', 1 + floor(random() * 4));
            IF random() < 0.3 THEN with_batch := with_batch || jsonb_build_object('where', 'id % 2 = ' || floor(random() * 2)); END IF;
            CALL dedup_into('h', query, with_batch);
            COMMIT;
            WHILE random() < 0.5 LOOP
                CALL change_result('h');
                IF random() < 0.3 THEN CALL change_source(3); END IF;
            END LOOP;
            COMMIT;
        END LOOP;
        CALL clean('h');
        COMMIT;
        CALL dedup_into('h', query, options);
        INSERT INTO trouble SELECT history, start, options, w FROM wrong('h', options) w;
        COMMIT;
    END LOOP;
END $$;
SQL

# Damage of G1: two callers, and a DELETE of a kept row between them.
my $rs = 'select id, t from rs order by id';
$node->safe_psql('postgres', "CREATE TABLE rs (id int PRIMARY KEY, t text); CALL dedup_into('rr', '$rs', '{\"n\": 2}');
	INSERT INTO rs SELECT i, 'the water in our street has been cut off for three days and nobody came' FROM generate_series(1, 3) i");
my $gate = session($node);
${ $gate->{in} } .= "SELECT pg_advisory_lock(1);\nSELECT 'shut';\n";
IPC::Run::pump($gate->{run}) until ${ $gate->{out} } =~ /shut/;
my $slow = session($node);
${ $slow->{in} } .= "CALL dedup_into('rr', '$rs', '{\"n\": 2, \"batch\": 100, \"where\": \"(select pg_advisory_xact_lock_shared(1)) is not null\"}');\nSELECT 'through';\n";
IPC::Run::pump_nb($slow->{run});
ok(wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $slow->{pid} AND NOT granted)"), 'a caller is listing the rows');
$node->safe_psql('postgres', "CALL dedup_into('rr', '$rs', '{\"n\": 2}')");
$node->safe_psql('postgres', "UPDATE rs SET t = 'an altogether different complaint about noise at night near the school' WHERE id = 1; DELETE FROM rr WHERE id = 1");
${ $gate->{in} } .= "SELECT pg_advisory_unlock(1);\n";
IPC::Run::pump_nb($gate->{run});
like(finish_session($slow), qr/through/, 'it ends');
finish_session($gate);
$node->safe_psql('postgres', "CALL dedup_into('rr', '$rs', '{\"n\": 2}')");
is($node->safe_psql('postgres', 'SELECT id, cluster, keeper, stage FROM rr ORDER BY id'), "1|4|1|kept\n2|1|2|kept\n3|1|2|exact", 'each cluster has its kept row');
# What an earlier version left behind.
$node->safe_psql('postgres', "UPDATE rr SET keeper = 1, stage = 'exact' WHERE cluster = 1; CALL dedup_into('rr', '$rs', '{\"n\": 2}')");
is($node->safe_psql('postgres', 'SELECT id, cluster, keeper, stage FROM rr ORDER BY id'), "1|4|1|kept\n2|1|2|kept\n3|1|2|exact", 'damage is healed');

# One session.
my $histories = rows(300);
$node->safe_psql('postgres', "CALL histories($seed % 100000, $seed % 100000 + $histories - 1)");
is($node->safe_psql('postgres', 'SELECT * FROM trouble ORDER BY history LIMIT 10'), '', "$histories histories end as they should, seed $seed");

# Who waits for the result gets its turn after a batch.
$node->safe_psql('postgres', "DELETE FROM source; INSERT INTO source SELECT i, i % 48, 0 FROM generate_series(1, 40) i;
	CREATE FUNCTION slowly(n integer) RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM pg_sleep(0.05); RETURN n; END'");
my $query = 'SELECT id, body, fp, likes, slowly(likes) FROM source JOIN pool USING (n) ORDER BY id';
$slow = session($node);
${ $slow->{in} } .= "CALL dedup_into('turns', '$query', '{\"fp\": \"fp\", \"batch\": 1}');\nSELECT 'through';\n";
IPC::Run::pump_nb($slow->{run});
ok(wait_until($node, "SELECT to_regclass('turns') IS NOT NULL"), 'a call has begun');
$node->safe_psql('postgres', 'DELETE FROM turns');
is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $slow->{pid}"), 'active', 'a writer need not wait for the end of the call');
like(finish_session($slow), qr/through/, 'the call ends');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE relation = 'turns'::regclass"), '0', 'and leaves no lock');

# Several sessions: callers with different conditions, cancelled at random, and
# writers to both tables.
$query = 'SELECT id, body, fp, likes FROM source JOIN pool USING (n) ORDER BY id';
foreach my $round (1 .. rows(4))
{
	my $options = $node->safe_psql('postgres', 'SELECT setseed(' . rand() . '); SELECT random_options()') =~ s/^\n//r;
	my $call = sub {
		my ($more) = @_;
		return "CALL dedup_into('w$round', '$query', '" . ($options =~ s/\}$/$more}/r) . "');\n";
	};
	$node->safe_psql('postgres', "TRUNCATE source, touched; INSERT INTO source SELECT i, i % 49, i % 5 FROM generate_series(0, 30) i");
	my @scripts;
	foreach my $caller (1 .. 3)
	{
		my $script = '';
		foreach (1 .. 50)
		{
			$script .= 'SET statement_timeout = ' . (rand() < 0.3 ? 1 + int rand 30 : 0) . ";\n";
			$script .= $call->(', "batch": ' . (1 + int rand 4) . (rand() < 0.4 ? ', "where": "id % 3 <> ' . int(rand 3) . '"' : ''));
		}
		push @scripts, $script;
	}
	foreach my $writer (1 .. 2)
	{
		my $script = 'SELECT setseed(' . rand() . ");\nSELECT pg_sleep(0.2);\n";
		foreach (1 .. 120)
		{
			$script .= rand() < 0.5 ? "CALL change_source(4);\n" : "CALL change_result('w$round');\n";
			$script .= "BEGIN;\nCALL change_source(3);\nCALL clean('w$round');\nCOMMIT;\n" if rand() < 0.2;
			$script .= 'SELECT pg_sleep(' . rand(0.03) . ");\n";
		}
		push @scripts, $script;
	}
	# The first call makes the table for the writers.
	$node->safe_psql('postgres', $call->(', "batch": 7'));
	my @sessions = map { session($node) } @scripts;
	foreach my $at (0 .. $#scripts) { ${ $sessions[$at]{in} } .= $scripts[$at]; }
	foreach my $session (@sessions) { ${ $session->{in} } .= "SELECT 'done';\n"; }
	while (grep { ${ $_->{out} } !~ /done/ } @sessions) { IPC::Run::pump_nb($_->{run}) for @sessions; usleep(2000); }
	foreach my $at (0 .. $#sessions)
	{
		# Two writers may meet in the wrong order; a caller is nobody's opponent.
		my $allowed = $at < 3 ? qr/canceling statement due to statement timeout/ : qr/deadlock detected|current transaction is aborted/;
		my @errors = grep { /ERROR/ && !/$allowed/ } split /\n/, finish_session($sessions[$at]);
		splice(@errors, 5) if @errors > 5;
		is(join("\n", @errors), '', "round $round, session $at: nothing unforeseen, seed $seed");
	}
	$node->safe_psql('postgres', "CALL clean('w$round')");
	$node->safe_psql('postgres', $call->('')) for 1 .. 2;
	is($node->safe_psql('postgres', "SELECT wrong('w$round', '$options')"), '', "round $round: healed, seed $seed, $options");
}
log_is_clean($node, 'writers');
$node->stop;
done_testing();
