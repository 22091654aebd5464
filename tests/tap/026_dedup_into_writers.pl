# dedup_into beside writers to its source and to its result: whatever they do, after a call each row is judged the same as the
# row that is kept for it and no two kept rows are, and groups that are formed anew are those of dedup. Histories of one
# session, hundreds of them and short; then several sessions at once, with cancels. By comparing and by following.
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
CREATE TABLE source (id integer PRIMARY KEY, body text, fp bigint, likes integer);
CREATE PROCEDURE put(rows integer) LANGUAGE sql AS $$
    INSERT INTO source SELECT r.id, p.body, p.fp, r.likes FROM (SELECT floor(random() * 120) AS id, floor(random() * 49) AS n, floor(random() * 5) AS likes FROM generate_series(1, rows)) r
        JOIN pool p USING (n) ON CONFLICT DO NOTHING $$;

-- What is wrong with a result, or nothing.
CREATE FUNCTION wrong(result text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE n bigint; same text;
BEGIN
    same := '(a.body = b.body OR a.fp <~> b.fp <= 3 AND ngram_jaccard(a.body, b.body) >= ' || (options ->> 'similarity') || ')';
    EXECUTE format('CREATE OR REPLACE TEMP VIEW r AS SELECT t.id, t.cluster, t.keeper, t.stage, t.distance, t.similarity, t.arrival, s.body, s.fp, s.id IS NULL AS gone FROM %s t
        LEFT JOIN source s USING (id)', result);
    SELECT count(*) INTO n FROM source FULL JOIN r USING (id) WHERE r.arrival IS NULL OR r.gone;
    IF n > 0 THEN RETURN NEXT n || ' rows are in one of source and result'; END IF;
    SELECT count(*) INTO n FROM (SELECT FROM r GROUP BY cluster HAVING count(*) FILTER (WHERE stage IN ('kept', 'empty')) <> 1) c;
    IF n > 0 THEN RETURN NEXT n || ' clusters without one kept row'; END IF;
    SELECT count(*) INTO n FROM r WHERE NOT EXISTS (SELECT FROM r k WHERE k.id = r.keeper AND k.cluster = r.cluster AND k.stage IN ('kept', 'empty'));
    IF n > 0 THEN RETURN NEXT n || ' rows whose keeper is none'; END IF;
    IF options ->> 'keep' = 'first' AND options ->> 'group' IN ('star', 'single_pass') THEN
        EXECUTE 'SELECT count(*) FROM r a JOIN r b ON b.id = a.keeper WHERE a.id <> b.id AND NOT ' || same INTO n;
        IF n > 0 THEN RETURN NEXT n || ' rows that are not judged the same as their kept row'; END IF;
        EXECUTE 'SELECT count(*) FROM r a JOIN r b ON a.id < b.id AND a.stage = ''kept'' AND b.stage = ''kept'' AND ' || same INTO n;
        IF n > 0 THEN RETURN NEXT n || ' kept rows that are judged the same'; END IF;
        RETURN;
    END IF;
    -- A row that went leaves no trace, be it a bridge: all is as dedup has it.
    EXECUTE format('SELECT count(*) FROM dedup(''SELECT id, body, fp, likes FROM source ORDER BY id'', %L) d FULL JOIN r ON r.id = d.id
        WHERE (d.keeper, d.stage, d.distance, d.similarity) IS DISTINCT FROM (r.keeper, r.stage, r.distance, r.similarity)', options) INTO n;
    IF n > 0 THEN RETURN NEXT n || ' rows that dedup has otherwise'; END IF;
END $$;

CREATE PROCEDURE change_source(rows integer) LANGUAGE plpgsql AS $$
BEGIN
    CASE floor(random() * 4)
        WHEN 0 THEN DELETE FROM source WHERE id IN (SELECT id FROM source ORDER BY random() LIMIT 2);
        WHEN 1 THEN UPDATE source s SET (body, fp) = (SELECT body, fp FROM pool WHERE n = (s.id * rows + 7) % 49) WHERE id IN (SELECT id FROM source ORDER BY random() LIMIT 2);
        ELSE CALL put(rows);
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
    SELECT jsonb_build_object('fp', 'fp', 'distance', 3, 'n', 2, 'details', '[]'::jsonb, 'similarity', (ARRAY[0, 0.5])[1 + floor(random() * 2)::int],
        'equal', (ARRAY['text', 'text', 'normal'])[1 + floor(random() * 3)::int])
        || (ARRAY['{"group": "star", "keep": "first"}', '{"group": "star", "keep": "first"}', '{"group": "star", "keep": "first"}', '{"group": "single_pass", "keep": "first"}',
            '{"group": "star", "keep": {"column": "likes"}}', '{"group": "components", "keep": "longest"}', '{"diameter": 4, "keep": "last", "group": "components"}']::jsonb[])[1 + floor(random() * 7)::int] $$;
-- One result that compares, one that follows.
CREATE PROCEDURE call_both(name text, options jsonb) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CALL dedup_into(%L, %L, %L)', name || '_compared', 'SELECT id, body, fp, likes FROM source ORDER BY id', options);
    EXECUTE format('CALL dedup_into(%L, ''source'', %L)', name || '_followed', options || '{"follow": true, "columns": "body"}');
END $$;

CREATE TABLE trouble (history integer, seed float8, options jsonb, what text);
CREATE PROCEDURE history(number integer) LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    options jsonb; start float8 := number / 1000000.0;
BEGIN
    PERFORM setseed(start);
    options := random_options();
    DROP VIEW IF EXISTS r;
    DROP TABLE IF EXISTS h_compared, h_compared_merges, h_compared_state, h_followed, h_followed_merges, h_followed_state, h_followed_todo;
    DROP FUNCTION IF EXISTS h_followed_follow() CASCADE;
    TRUNCATE source;
    CALL put(40 + (random() * 60)::integer);
    FOR turn IN 1 .. 3 + floor(random() * 3) LOOP
        CALL call_both('h', options);
        INSERT INTO trouble SELECT number, start, options, r || ' ' || turn || ': ' || w FROM unnest('{h_compared,h_followed}'::text[]) r, wrong(r, options) w;
        FOR change IN 1 .. random() * 3 LOOP CALL change_source(3); END LOOP;
        IF random() < 0.3 THEN CALL change_result('h_compared'); END IF;
        IF random() < 0.1 THEN DELETE FROM h_followed WHERE id IN (SELECT id FROM h_followed ORDER BY random() LIMIT 2); END IF;
    END LOOP;
END $$;
SQL

# One session.
my $histories = rows(300);
# A transaction each: so many tables are more locks than one can hold.
$node->safe_psql('postgres', join '', map { "CALL history($seed % 100000 + $_);\n" } 0 .. $histories - 1);
is($node->safe_psql('postgres', 'SELECT * FROM trouble ORDER BY history LIMIT 10'), '', "$histories histories are right after each call, seed $seed");

# Several sessions: callers, cancelled at random, and writers to the source and to the result that compares.
foreach my $round (1 .. rows(4))
{
	my $options = $node->safe_psql('postgres', 'SELECT setseed(' . rand() . '); SELECT random_options()') =~ s/^\n//r;
	$node->safe_psql('postgres', "TRUNCATE source; CALL put(90); CALL call_both('w$round', '$options')");
	my $limited = sub { my ($call) = @_; return 'SET statement_timeout = ' . (rand() < 0.3 ? 1 + int rand 30 : 0) . ";\n$call;\n" };
	my @scripts = (
		join('', map { $limited->("CALL dedup_into('w${round}_compared', 'SELECT id, body, fp, likes FROM source ORDER BY id')") } 1 .. 50),
		join('', map { $limited->("CALL dedup_into('w${round}_followed', 'source')") } 1 .. 50) x 2);
	foreach my $writer (1 .. 2)
	{
		my $script = 'SELECT setseed(' . rand() . ");\n";
		foreach (1 .. 120)
		{
			$script .= rand() < 0.7 ? "CALL change_source(4);\n" : "CALL change_result('w${round}_compared');\n";
			$script .= "BEGIN;\nCALL change_source(3);\nSELECT pg_sleep(" . rand(0.02) . ");\nCALL change_source(3);\n" . (rand() < 0.3 ? 'ROLLBACK' : 'COMMIT') . ";\n" if rand() < 0.2;
			$script .= 'SELECT pg_sleep(' . rand(0.03) . ");\n";
		}
		push @scripts, $script;
	}
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
	$node->safe_psql('postgres', "CALL call_both('w$round', '$options')");
	is($node->safe_psql('postgres', "SELECT wrong('w${round}_$_', '$options')"), '', "round $round: $_, seed $seed, $options") foreach 'compared', 'followed';
}
log_is_clean($node, 'writers');
$node->stop;
done_testing();
