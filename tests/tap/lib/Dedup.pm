# What the tests of the banding index share: data of several shapes, answers
# compared with brute force, the index's own check, the server's log.
#
# DEDUP_TEST_SCALE multiplies the rows: 1 by default, 50 for a million.
# DEDUP_TEST_SEED is what random tests begin with: the same in every run, so that what fails can be repeated, unless it is
# another number or "random".
package Dedup;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

our @EXPORT = qw(
  rows test_seed new_node set_up fill answers_agree check_is_clean is_sound log_is_clean
  session finish_session wait_until scalar_of
);

# Rows at a scale of one, times the scale.
sub rows
{
	my ($n) = @_;
	return int($n * ($ENV{DEDUP_TEST_SCALE} // 1));
}

# Begins Perl's random numbers; returns what they began with, for the messages of tests that fail.
sub test_seed
{
	my $seed = $ENV{DEDUP_TEST_SEED} // 20_140_217;
	$seed = int rand 2**31 if $seed eq 'random';
	srand $seed;
	note "DEDUP_TEST_SEED=$seed";
	return $seed;
}

# A running server with the extension and the functions below. Without durable
# writes: a crash here is that of a process, not of the machine.
sub new_node
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(
		allows_streaming => $params{standby} // 0,
		# PostgreSQL 18 has checksums by default, and with them finds damage before the index can.
		no_data_checksums => $params{no_checksums},
		extra => [ '--encoding', 'UTF8', '--locale', 'C' ]
	);
	$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_buffers = 64MB
max_wal_size = 2GB
checkpoint_timeout = 1h
max_parallel_maintenance_workers = 2
jit = off
CONF
	$node->append_conf('postgresql.conf', $params{conf}) if $params{conf};
	$node->start;
	set_up($node);
	return $node;
}

sub set_up
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_dedup');
	$node->safe_psql(
		'postgres', <<'SQL');
CREATE SCHEMA test;

-- 64 bits, as good as random and the same in every run.
CREATE FUNCTION test.random_fp(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashint8extended(i, 20070508);

-- fp with up to n bits turned over.
CREATE FUNCTION test.flip(fp bigint, n bigint, seed bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN fp # coalesce((SELECT bit_xor(1::bigint << (hashint8extended(seed, s) & 63)::integer)
                        FROM generate_series(1, n) s), 0);

-- The i-th fingerprint of a shape. In all of them rows come in families that
-- differ by 0 to 20 bits, or a search would find nothing.
CREATE FUNCTION test.fp(shape text, i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE shape
    WHEN 'uniform' THEN test.flip(test.random_fp(i / 4), (i % 4) * (i / 4 % 7), i)
    -- One block is the same for everything.
    WHEN 'skewed' THEN
        test.flip(test.random_fp(i / 4), (i % 4) * (i / 4 % 7), i) & x'0000ffffffffffff'::bigint
            | x'5eed000000000000'::bigint
    -- A third of the rows in one bucket of the first block, a third in one of the third.
    WHEN 'hot' THEN
        CASE i % 3
            WHEN 0 THEN test.flip(test.random_fp(i / 12), i / 3 % 4, i) & x'0000ffffffffffff'::bigint
                            | x'5eed000000000000'::bigint
            WHEN 1 THEN test.flip(test.random_fp(i / 12), i / 3 % 4, i) & x'ffffffff0000ffff'::bigint
                            | x'0000000000aa0000'::bigint
            ELSE test.flip(test.random_fp(i / 12), i / 3 % 4, i)
        END
    -- 19 of 20 are one and the same.
    WHEN 'duplicates' THEN
        CASE WHEN i % 20 > 0 THEN 4711 ELSE test.flip(4711, i / 20 % 30, i) END
    END;

-- What is wrong with the answers of a table's index: nothing, or a line each.
-- The truth is counted without the extension, in one pass over the table, and
-- compared at all radii given, and for the 100 nearest, with what the
-- extension answers through an index scan, a bitmap scan and a sequential scan.
-- Plans that do not scan as they should are wrong too.
CREATE FUNCTION test.compare(tbl text, fp text DEFAULT 'fp', cond text DEFAULT 'true',
    queries integer DEFAULT 6, radii integer[] DEFAULT '{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}',
    k integer[] DEFAULT '{1,2,5,10,33,100}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    probes bigint[];
    truth text[];
    answer text[];
    mode text;
    search text;
    line text;
    plan text;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', '0', true);
    PERFORM set_config('enable_seqscan', 'on', true);
    PERFORM set_config('enable_indexscan', 'off', true);
    PERFORM set_config('enable_bitmapscan', 'off', true);
    -- Fingerprints of the table, some of them changed, and one of nobody's.
    EXECUTE format('SELECT ARRAY(SELECT test.flip(f, (row_number() OVER () - 1) %% 3 * 2, 5)
        FROM (SELECT %1$s AS f FROM %2$s WHERE (%3$s) AND (%1$s) IS NOT NULL
               ORDER BY hashint8(id), id LIMIT %4$s) few)', fp, tbl, cond, queries) INTO probes;
    probes := ARRAY(SELECT DISTINCT unnest(probes || test.random_fp(-1)));

    EXECUTE format('
        SELECT ARRAY(
            WITH by_distance AS MATERIALIZED (
                SELECT q, bit_count(((%1$s) # q)::bit(64)) AS d, count(*) AS n,
                       bit_xor(hashint8extended(id, 1)) AS x, sum(id) AS s
                  FROM unnest($1) q, %2$s WHERE (%3$s) AND (%1$s) IS NOT NULL GROUP BY 1, 2)
            SELECT format(''%%s within %%s: %%s rows %%s %%s'', q.q, r, coalesce(sum(n), 0),
                          coalesce(bit_xor(x), 0), coalesce(sum(s), 0))
              FROM unnest($1) q(q) CROSS JOIN unnest($2) r
              LEFT JOIN by_distance b ON b.q = q.q AND b.d <= r
             GROUP BY q.q, r ORDER BY q.q, r)', fp, tbl, cond)
       USING probes, radii INTO truth;

    search := format('
        SELECT q, r, count(id) AS n, bit_xor(hashint8extended(id, 1)) AS x, sum(id) AS s
          FROM unnest($1) q CROSS JOIN unnest($2) r
          LEFT JOIN LATERAL (SELECT id FROM %2$s WHERE (%1$s) <@ hamming_ball(q, r) AND (%3$s)) found ON true
         GROUP BY q, r', fp, tbl, cond);
    FOREACH mode IN ARRAY '{Index Scan,Bitmap Index Scan,Seq Scan}'::text[] LOOP
        PERFORM set_config('enable_indexscan', (mode = 'Index Scan')::text, true);
        PERFORM set_config('enable_bitmapscan', (mode = 'Bitmap Index Scan')::text, true);
        PERFORM set_config('enable_seqscan', (mode = 'Seq Scan')::text, true);
        plan := '';
        FOR line IN EXECUTE 'EXPLAIN ' || search USING probes, radii LOOP
            plan := plan || line || E'\n';
        END LOOP;
        IF plan !~ ('(^|[^p]) *(->)? +' || mode) OR (mode <> 'Seq Scan' AND plan ~ 'Seq Scan on') THEN
            RETURN NEXT format('no %s: %s', mode, plan);
        END IF;
        EXECUTE format('SELECT ARRAY(SELECT format(''%%s within %%s: %%s rows %%s %%s'', q, r, n,
                coalesce(x, 0), coalesce(s, 0)) FROM (%s) a ORDER BY q, r)', search)
           USING probes, radii INTO answer;
        IF answer IS DISTINCT FROM truth THEN
            RETURN QUERY SELECT format('%s finds %s, the truth is %s', mode, a, t)
                FROM unnest(answer, truth) u(a, t) WHERE a IS DISTINCT FROM t LIMIT 5;
        END IF;
    END LOOP;

    -- The nearest: distances in the order in which they come; a row comes once.
    EXECUTE format('
        SELECT ARRAY(SELECT format(''%%s nearest %%s: %%s'', q, k, ds)
              FROM unnest($1) q, unnest($2) k, LATERAL (
                  SELECT string_agg(d::text, '','' ORDER BY d) AS ds FROM (
                      SELECT bit_count(((%1$s) # q)::bit(64)) AS d FROM %2$s WHERE (%3$s) AND (%1$s) IS NOT NULL
                       ORDER BY 1 LIMIT k) nearest) all_of_them
             WHERE ds IS NOT NULL ORDER BY q, k)', fp, tbl, cond) USING probes, k INTO truth;
    PERFORM set_config('enable_indexscan', 'on', true);
    PERFORM set_config('enable_sort', 'off', true);
    search := format('
        SELECT q, k, string_agg(d::text, '','' ORDER BY place) AS d, count(*) - count(DISTINCT (tableoid, ctid)) AS twice
          FROM unnest($1) q CROSS JOIN unnest($2) k LEFT JOIN LATERAL (
              SELECT tableoid, ctid, d, row_number() OVER () AS place FROM (
                  SELECT tableoid, ctid, (%1$s) <~> q AS d FROM %2$s WHERE %3$s ORDER BY (%1$s) <~> q LIMIT k) f) nearest ON true
         GROUP BY q, k', fp, tbl, cond);
    plan := '';
    FOR line IN EXECUTE 'EXPLAIN ' || search USING probes, k LOOP
        plan := plan || line || E'\n';
    END LOOP;
    IF plan !~ 'Order By: .*<~>' THEN
        RETURN NEXT 'no ordered index scan: ' || plan;
    END IF;
    EXECUTE format('SELECT ARRAY(SELECT format(''%%s nearest %%s: %%s%%s'', q, k, d,
            CASE twice WHEN 0 THEN '''' ELSE '' some twice'' END) FROM (%s) a ORDER BY q, k)', search)
       USING probes, k INTO answer;
    IF answer IS DISTINCT FROM truth THEN
        RETURN QUERY SELECT format('the index gives %s, the truth is %s', a, t)
            FROM unnest(answer, truth) u(a, t) WHERE a IS DISTINCT FROM t LIMIT 5;
    END IF;
END $$;

-- Raises an error unless index scan, bitmap scan and brute force agree, all in
-- one snapshot.
CREATE FUNCTION test.agree(tbl text, q bigint, r integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE by_index bigint[]; by_bitmap bigint[]; truth bigint[]; nearest integer[]; true_nearest integer[];
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %3$s WHERE fp <@ hamming_ball(%1$s::bigint, %2$s)', q, r, tbl) INTO by_index;
    EXECUTE format('SELECT array_agg(d) FROM (SELECT hamming(fp, %1$s::bigint) AS d FROM %2$s ORDER BY fp <~> %1$s::bigint LIMIT 20) n', q, tbl) INTO nearest;
    PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %3$s WHERE fp <@ hamming_ball(%1$s::bigint, %2$s)', q, r, tbl) INTO by_bitmap;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %3$s WHERE bit_count((fp # %1$s::bigint)::bit(64)) <= %2$s', q, r, tbl) INTO truth;
    EXECUTE format('SELECT array_agg(d) FROM (SELECT bit_count((fp # %1$s::bigint)::bit(64))::integer AS d FROM %2$s ORDER BY 1 LIMIT 20) n', q, tbl) INTO true_nearest;
    IF by_index IS DISTINCT FROM truth OR by_bitmap IS DISTINCT FROM truth OR nearest IS DISTINCT FROM true_nearest THEN
        RAISE EXCEPTION 'wrong answer at % within %: index %, bitmap %, truth %, nearest %, truth %',
            q, r, by_index, by_bitmap, truth, nearest, true_nearest;
    END IF;
    RETURN coalesce(cardinality(truth), 0);
END $$;
SQL
	return;
}

# Adds rows from .. to of a shape. The table has columns id and fp.
sub fill
{
	my ($node, $table, $shape, $from, $to) = @_;
	$node->safe_psql('postgres',
		"INSERT INTO $table SELECT i, test.fp('$shape', i) FROM generate_series($from, $to) i");
	return;
}

# The answers of a table's index are those of brute force. Options: fp, cond,
# queries, radii, k as SQL expressions, as test.compare takes them; prelude: SQL
# to run before, in the same session.
sub answers_agree
{
	my ($node, $table, $name, %o) = @_;
	my $prelude = delete $o{prelude} // '';
	my $arguments = join '', map { ", $_ => $o{$_}" } sort keys %o;
	my ($ret, $stdout, $stderr) = $node->psql('postgres',
		"$prelude; SELECT * FROM test.compare('$table'$arguments)");
	return is($stdout . $stderr . ($ret == 0 ? '' : "psql: $ret"), '', "$name: answers of $table are those of brute force");
}

# The index's own check finds nothing wrong, and no row without its entry.
sub check_is_clean
{
	my ($node, $index, $name, $prelude) = @_;
	$prelude //= '';
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "$prelude; SELECT banding_check('$index', true)");
	return is($stdout . $stderr . ($ret == 0 ? '' : "psql: $ret"), '', "$name: banding_check finds nothing wrong with $index");
}

sub is_sound
{
	my ($node, $table, $index, $name, %o) = @_;
	check_is_clean($node, $index, $name, $o{prelude});
	return answers_agree($node, $table, $name, %o);
}

# The server has neither crashed nor complained of what it was left with.
sub log_is_clean
{
	my ($node, $name, $from) = @_;
	my $log = slurp_file($node->logfile, $from // 0);
	my @bad = grep { /TRAP:|PANIC|terminated by signal|refcount leak|leaked|snapshot reference|failed Assert|is not owned by|panicked|still referenced|unexpected data beyond|inconsistent page found/ }
	  split /\n/, $log;
	splice(@bad, 5) if @bad > 5;
	return is(join("\n", @bad), '', "$name: nothing in the log of " . $node->name . ' that should not be there');
}

# A psql of its own in the background, with a handle to write to. Its process
# id on the server is asked first.
sub session
{
	my ($node, @arguments) = @_;
	my ($in, $out, $err) = ('', '', '');
	my $timer = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default * 4);
	my $handle = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-', @arguments ],
		'<', \$in, '>', \$out, '2>', \$err, $timer);
	$in .= "SELECT 'pid ' || pg_backend_pid();\n";
	IPC::Run::pump($handle) until $out =~ /pid (\d+)\n/;
	my $pid = $1;
	$out = '';
	return { run => $handle, in => \$in, out => \$out, err => \$err, pid => $pid };
}

sub finish_session
{
	my ($session) = @_;
	${ $session->{in} } .= "\\q\n";
	eval { IPC::Run::finish($session->{run}) };
	return ${ $session->{out} } . ${ $session->{err} };
}

# Waits until a query gives true; says whether it did in time.
sub wait_until
{
	my ($node, $query, $seconds) = @_;
	my $end = time + ($seconds // 60);
	while (time < $end)
	{
		return 1 if $node->safe_psql('postgres', $query) eq 't';
		usleep(20_000);
	}
	return 0;
}

sub scalar_of
{
	my ($node, $query) = @_;
	return $node->safe_psql('postgres', $query);
}

1;
