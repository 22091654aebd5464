#!/usr/bin/env python3
"""pg_dedup by psycopg 3: text and binary formats, prepared statements, COPY, errors, dedup_into.

    pip install 'psycopg[binary]'
    python examples/driver_psycopg.py [--pooled]      # the database of PGHOST, PGUSER …

--pooled: through a PgBouncer in transaction mode that knows no prepared statements. Works in a schema of its own, which it drops.
"""
import sys

import psycopg

pooled = "--pooled" in sys.argv
TEXT = "No water in house {} of Harbour Street since Monday morning, and nobody from the housing office answers the telephone."
connection = psycopg.connect("", autocommit=True, prepare_threshold=None if pooled else 0)
connection.execute("DROP SCHEMA IF EXISTS driver_psycopg CASCADE")
connection.execute("CREATE EXTENSION IF NOT EXISTS pg_dedup")
connection.execute("CREATE SCHEMA driver_psycopg")
connection.execute("CREATE TABLE driver_psycopg.ticket (id bigint PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED)")
with connection.cursor() as cursor, cursor.copy("COPY driver_psycopg.ticket (id, body) FROM STDIN") as copy:
    for number in range(300):
        copy.write_row((number, TEXT.format(number // 3) + " " + "please " * (number % 3)))
connection.execute("CREATE INDEX ON driver_psycopg.ticket USING banding (fp)")
connection.execute("ANALYZE driver_psycopg.ticket")
shown = {i: int(fp) for i, fp in connection.execute("SELECT id, fp::text FROM driver_psycopg.ticket")}


def near(fp):
    """The rows within 6 bits, counted here."""
    return sorted(i for i, other in shown.items() if bin((fp ^ other) & (1 << 64) - 1).count("1") <= 6)


for binary in (False, True):
    with connection.cursor(binary=binary) as cursor:
        assert dict(cursor.execute("SELECT id, fp FROM driver_psycopg.ticket").fetchall()) == shown
        for number in (0, 7, 299):
            fp = shown[number]
            for query in ("near_dup(fp, %s::bigint, %s::integer)", "fp <~> %s::bigint <= %s::integer", "fp <@ hamming_ball(%s::bigint, %s::integer)",
                          "near_dup(fp, %b::bigint, %b::integer)"):
                cursor.execute(f"SELECT id FROM driver_psycopg.ticket WHERE {query} ORDER BY id", (fp, 6))
                assert [i for i, in cursor] == near(fp), query
        with connection.transaction():
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL pg_dedup.progress = 0")
            cursor.execute("EXPLAIN SELECT id FROM driver_psycopg.ticket WHERE near_dup(fp, %s::bigint, %s::integer)", (shown[0], 6))
            assert any("hamming_ball" in line for line, in cursor)

# Fingerprints and balls there and back by COPY in binary format.
connection.execute("CREATE TABLE driver_psycopg.ball AS SELECT id, fp, hamming_ball(fp, 6) AS ball FROM driver_psycopg.ticket")
connection.execute("CREATE TABLE driver_psycopg.again (LIKE driver_psycopg.ball)")
with connection.cursor() as cursor:
    with cursor.copy("COPY driver_psycopg.ball TO STDOUT (FORMAT binary)") as copy:
        content = b"".join(copy)
    with cursor.copy("COPY driver_psycopg.again FROM STDIN (FORMAT binary)") as copy:
        copy.write(content)
    cursor.execute("SELECT count(*) FROM driver_psycopg.ball b JOIN driver_psycopg.again a USING (id, fp) WHERE a.ball::text = b.ball::text")
    assert cursor.fetchone() == (300,)

# dedup_into is part of the transaction.
with connection.transaction():
    connection.execute("CALL dedup_into('driver_psycopg.grouped', 'driver_psycopg.ticket')")
assert connection.execute("SELECT count(*) FROM driver_psycopg.grouped").fetchone() == (300,)

# A guard's error has its class.
connection.execute("CREATE TRIGGER guard AFTER INSERT ON driver_psycopg.ticket FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp')")
try:
    connection.execute("INSERT INTO driver_psycopg.ticket (id, body) SELECT 1000, body FROM driver_psycopg.ticket WHERE id = 7")
    raise AssertionError("the guard let a copy in")
except psycopg.errors.ExclusionViolation:
    pass
with psycopg.ClientCursor(connection) as cursor:
    cursor.execute("DROP SCHEMA driver_psycopg CASCADE")
print("psycopg: the same rows in text and binary format" + (", through PgBouncer" if pooled else ""))
