"""Chosen plans beside the best forced ones, on the server that bench/plans started; see there."""

import re
import subprocess
import sys

# What is switched off to force another plan.
FORCED = [
    set(), {"seqscan"}, {"indexscan"}, {"bitmapscan"}, {"seqscan", "bitmapscan"}, {"seqscan", "indexscan"},
    {"indexscan", "bitmapscan"}, {"nestloop"}, {"nestloop", "indexscan"}, {"material", "seqscan"}, {"memoize"},
    {"hashjoin"}, {"hashjoin", "seqscan"}, {"hashjoin", "seqscan", "bitmapscan"},
    {"hashjoin", "mergejoin", "indexscan", "bitmapscan"}, {"sort"}, {"incremental_sort"},
]
# Time of the processor, for the machine does other things too; workers would be other processes.
CPU = "SELECT 'cpu ' || split_part(pg_read_file('/proc/self/schedstat'), ' ', 1);"
TIMES = 4
# Milliseconds from which a plan counts, and how many times slower than the best one it may be.
COUNTS, SLOWER = 1, 2


def psql(script):
    call = ["psql", "-X", "-q", "-A", "-t"]
    return subprocess.run(call, input=script, capture_output=True, text=True, check=False).stdout


def settings(off):
    switched = "".join(f"SET enable_{method} = off;" for method in sorted(off))
    return f"LOAD 'pg_dedup'; SET jit = off; SET max_parallel_workers_per_gather = 0; {switched}\n"


def make(rows):
    psql(f"""
CREATE EXTENSION IF NOT EXISTS pg_dedup;
CREATE OR REPLACE FUNCTION random_fp(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN hashint8extended(i, 5);
CREATE OR REPLACE FUNCTION flipped(fp bigint, seed bigint, bits bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN fp
    # CASE WHEN bits > 0 THEN 1::bigint << (hashint8extended(seed, 1) & 63)::int ELSE 0 END
    # CASE WHEN bits > 1 THEN 1::bigint << (hashint8extended(seed, 2) & 63)::int ELSE 0 END
    # CASE WHEN bits > 2 THEN 1::bigint << (hashint8extended(seed, 3) & 63)::int ELSE 0 END;
CREATE TABLE t{rows} AS SELECT i AS id, (i % 100)::int AS tenant, repeat('x', 60) AS body, CASE WHEN i % 10 < 7
    THEN random_fp(i)
    ELSE flipped(random_fp(abs(hashint8extended(i, 9)) % (i / 10 + 1) * 10), i, i / 10 % 4) END AS fp
    FROM generate_series(1::bigint, {rows}) i;
CREATE TABLE s{rows} AS TABLE t{rows};
CREATE TABLE o{rows} AS SELECT id, flipped(fp, id, 2) AS fp FROM t{rows} WHERE id % greatest({rows} / 10000, 1) = 0;
ALTER TABLE t{rows} ADD PRIMARY KEY (id);
CREATE INDEX ON t{rows} USING banding (fp);
CREATE INDEX ON s{rows} USING banding (tenant, fp);
VACUUM ANALYZE t{rows}, s{rows}, o{rows};""")


def queries(rows):
    wanted = psql(f"SELECT flipped(fp, 77, 2) FROM t{rows} WHERE id = {rows // 2}").strip()
    wanted, table, scoped = f"'{wanted}'::bigint", f"t{rows}", f"s{rows}"

    def near(where, distance):
        return f"SELECT id FROM {where} WHERE near_dup(fp, {wanted}, {distance})"

    for d in (0, 3, 7, 10, 12, 14, 16, 20, 24, 28, 32):
        yield near(table, d)
        yield near(table, d) + " LIMIT 10"
    for d in (3, 10, 20):
        yield near(table, d) + f" AND id < {rows // 10}"
        yield near(table, d) + f" AND id < {rows // 100}"
        yield near(scoped, d)
        yield near(scoped, d) + " AND tenant = 7"
        yield near(scoped, d) + " AND tenant IN (7, 8, 9)"
    for d in (3, 10, 16, 24):
        yield near(table, d) + f" ORDER BY fp <~> {wanted}"
        yield near(table, d) + f" ORDER BY fp <~> {wanted} LIMIT 10"
    for limit in (1, 10, 100, 1000, "ALL"):
        order = f"ORDER BY fp <~> {wanted} LIMIT {limit}"
        yield f"SELECT id FROM {table} {order}"
        yield f"SELECT id FROM {table} WHERE tenant < 10 {order}"
        yield f"SELECT id FROM {table} WHERE id < {rows // 100} {order}"
        yield f"SELECT id FROM {scoped} WHERE tenant = 7 {order}"
    for count in (count for count in (1, 10, 100, 1000) if count * rows <= 10**8):
        some = f"(SELECT * FROM o{rows} ORDER BY hashint8(id) LIMIT {count}) a"
        for d in (0, 3, 7, 10, 13, 16):
            yield f"SELECT count(*) FROM {some} JOIN {table} b ON near_dup(a.fp, b.fp, {d})"
        for d in (3, 10):
            yield (f"SELECT count(*) FROM {some} WHERE EXISTS (SELECT FROM {table} b WHERE near_dup(a.fp, b.fp, {d})"
                   " AND a.id <> b.id)")
            yield (f"SELECT count(*) FROM {some}, LATERAL (SELECT id FROM {table} b ORDER BY b.fp <~> a.fp"
                   f" LIMIT {d}) c")


def milliseconds(query, off, limit):
    """The least time of the processor that running a query took beyond planning it."""
    once = f"EXPLAIN {query};{CPU}EXPLAIN {query};{CPU}EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) {query};{CPU}"
    out = psql(settings(off) + f"SET statement_timeout = {limit};" + once * TIMES)
    marks = [int(mark) / 1e6 for mark in re.findall(r"^cpu (\d+)", out, re.M)]
    took = [run - planned - (planned - begun)
            for begun, planned, run in zip(marks[::3], marks[1::3], marks[2::3], strict=False)]
    return max(min(took[1:] or took), 0.001) if took else limit


def main():
    total = slow = 0
    for rows in map(int, sys.argv[1:]):
        make(rows)
        for query in queries(rows):
            plans = {}
            for off in FORCED:
                plans.setdefault(psql(settings(off) + f"EXPLAIN (COSTS OFF) {query}"), off)
            times = []
            for off in plans.values():
                limit = max(int(4 * min(times)), 60) if times else 60000
                times.append(milliseconds(query, off, limit))
            chosen, best = times[0], min(times)
            total += 1
            if chosen > COUNTS and chosen > SLOWER * best:
                slow += 1
                forced = list(plans.values())[times.index(best)]
                print(f"{chosen:10.2f} ms, without {', '.join(sorted(forced))} {best:.2f}: {query}", flush=True)
        print(f"{rows} rows: {total} plans so far, {slow} slower than {SLOWER} times the best", flush=True)


main()
