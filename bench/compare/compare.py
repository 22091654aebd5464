"""Measures pg_dedup beside its alternatives on one table of generated petitions. Called by bench/compare/run."""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import statistics
import time

import psycopg

TRGM_ROWS = int(os.environ.get("TRGM_ROWS", "5000"))
PYTHON_ROWS = int(os.environ.get("PYTHON_ROWS", "100000"))
BANDS = "minhash_bands(minhash(body), 32, 4)"
# A row is asked for by its fingerprint, whose texts are compared then; by all alternatives with the same threshold.
SIMILAR = "AND ngram_jaccard(d.body, q.body, 2) >= 0.5"


class One:
    """An index that answers which rows a text repeats."""

    def __init__(self, name, query, index=None, column=None, settings=(), needs=None, setup=None, note=""):
        self.name, self.query, self.index, self.column = name, query, index, column
        self.settings, self.needs, self.setup, self.note = settings, needs, setup, note


ONE = [
    One("pg_dedup, banding", f"near_dup(d.fp, q.fp, 10) {SIMILAR}", "USING banding (fp)", note="distance 10"),
    One("pg_dedup, dedup_find", "", setup='{"columns": "body", "fp": "own"}', note="as dedup_setup chooses"),
    One("sequential scan", f"hamming(d.fp, q.fp) <= 10 {SIMILAR}", note="distance 10"),
    One(
        "four btrees",
        "(" + " OR ".join(f"((d.fp >> {s}) & 65535) = ((q.fp >> {s}) & 65535)" for s in (0, 16, 32, 48)) + ") "
        f"AND hamming(d.fp, q.fp) <= 10 {SIMILAR}",
        [f"(((fp >> {s}) & 65535))" for s in (0, 16, 32, 48)],
        note="complete up to distance 3",
    ),
    One(
        "pgvector, HNSW bit(64)",
        f"d.id IN (SELECT v.id FROM desk AS v ORDER BY v.bits <~> q.fp::bit(64) LIMIT 100) {SIMILAR}",
        "USING hnsw (bits bit_hamming_ops)",
        column=("bits", "bit(64)", "fp::bit(64)"),
        settings=("SET hnsw.ef_search = 100",),
        needs="vector",
        note="nearest 100",
    ),
    One("pg_trgm, GIN", "d.body %% q.body", "USING gin (body gin_trgm_ops)", settings=("SET pg_trgm.similarity_threshold = 0.5",), needs="pg_trgm"),
    One(
        "pg_trgm, GiST",
        "d.body %% q.body",
        "USING gist (body gist_trgm_ops(siglen = 256))",
        settings=("SET pg_trgm.similarity_threshold = 0.5",),
        needs="pg_trgm",
    ),
    One(
        "MinHash bands, GIN",
        f"d.bands && q.bands {SIMILAR}",
        "USING gin (bands)",
        column=("bands", "bigint[]", BANDS),
        note="32 bands of 4",
    ),
    One(
        "tsquery, GIN",
        "d.words @@ replace(plainto_tsquery('simple', q.body)::text, '&', '|')::tsquery " + SIMILAR,
        "USING gin (words)",
        column=("words", "tsvector", "to_tsvector('simple', body)"),
        note="any word",
    ),
]


class Bench:
    def __init__(self, arguments):
        self.rows, self.queries = arguments.rows, arguments.queries
        self.path = arguments.csv
        admin = psycopg.connect(autocommit=True)
        admin.execute("DROP DATABASE IF EXISTS compare")
        # pg_trgm and the text search see letters only in a locale that knows them.
        admin.execute("CREATE DATABASE compare TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
        self.db = psycopg.connect(dbname="compare", autocommit=True)
        self.run("CREATE EXTENSION pg_dedup_papers CASCADE")
        self.run(
            "CREATE TABLE desk (id bigint PRIMARY KEY, petitioner text, department text, title text, body text, "
            "filed_at timestamp, cluster bigint, variant text)"
        )
        with self.db.cursor() as cursor, cursor.copy("COPY desk FROM STDIN (FORMAT csv, HEADER)") as copy, open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)
        self.results = []

    def run(self, sql, *parameters):
        started = time.perf_counter()
        cursor = self.db.execute(sql, parameters or None)
        return time.perf_counter() - started, cursor

    def value(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def has(self, extension):
        if extension is None:
            return True
        try:
            self.run(f"CREATE EXTENSION IF NOT EXISTS {extension}")
            return True
        except psycopg.Error as error:
            print(f"    skipped: {extension} ({str(error).splitlines()[0]})", flush=True)
            return False

    def record(self, part, name, **figures):
        self.results.append({"rows": self.rows, "part": part, "name": name, **figures})
        shown = ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items())
        print(f"    {part}: {name}: {shown}", flush=True)

    def fingerprints(self):
        seconds, _ = self.run("ALTER TABLE desk ADD COLUMN fp bigint GENERATED ALWAYS AS (simhash(body)) STORED")
        self.run("ANALYZE desk")
        self.record("store", "pg_dedup: the column of fingerprints", build=seconds)

    def build(self, way):
        """Makes the column and indexes of an alternative; its seconds and bytes."""
        if way.setup:
            seconds, _ = self.run("SELECT dedup_setup('desk', %s)", way.setup)
            size = self.value("SELECT pg_relation_size(indexrelid) FROM pg_index WHERE indrelid = 'desk'::regclass AND NOT indisprimary")
            self.run("VACUUM ANALYZE desk")
            return seconds, size
        seconds = 0.0
        if way.column:
            name, of, value = way.column
            self.run(f"ALTER TABLE desk ADD COLUMN {name} {of}")
            seconds += self.run(f"UPDATE desk SET {name} = {value}")[0]
            self.run("VACUUM FULL desk")
        indexes = way.index if isinstance(way.index, list) else [way.index] if way.index else []
        size = 0
        for number, index in enumerate(indexes):
            seconds += self.run(f"CREATE INDEX way{number} ON desk {index}")[0]
            size += self.value(f"SELECT pg_relation_size('way{number}')")
        self.run("VACUUM ANALYZE desk")
        return seconds, size

    def drop(self, way):
        if way.setup:
            self.run("DELETE FROM dedup_settings")
            self.run("ALTER TABLE desk DROP COLUMN own")
        for number in range(len(way.index) if isinstance(way.index, list) else 1 if way.index else 0):
            self.run(f"DROP INDEX way{number}")
        if way.column:
            self.run(f"ALTER TABLE desk DROP COLUMN {way.column[0]}")

    def one(self, store):
        # A complaint that was copied about another place is another petition: who finds it is wrong.
        self.run("CREATE TABLE asked AS SELECT * FROM desk WHERE variant NOT IN ('original', 'place_swapped') "
                 f"ORDER BY hashint8(id), id LIMIT {self.queries}")
        asked = self.db.execute("SELECT id, cluster FROM asked").fetchall()
        truth = "SELECT d.id FROM desk AS d WHERE d.cluster = %s AND d.id <> %s"
        self.run("CREATE INDEX clusters ON desk (cluster)")
        wanted = {id: {row[0] for row in self.db.execute(truth, (cluster, id))} for id, cluster in asked}
        self.run("DROP INDEX clusters")
        for way in ONE:
            if not self.has(way.needs):
                continue
            seconds, size = self.build(way)
            for setting in way.settings:
                self.run(setting)
            extra = f", {way.column[2]} AS {way.column[0]}" if way.column and way.column[0] == "bands" else ""
            sql = "SELECT f.id FROM asked AS q, dedup_find('desk', q.body) AS f WHERE q.id = %s" if way.setup else (
                   f"WITH q AS MATERIALIZED (SELECT body, fp{extra} FROM asked WHERE id = %s) "
                   f"SELECT d.id FROM q, LATERAL (SELECT d.id FROM desk AS d WHERE {way.query}) AS d")
            times, found, right, true = [], 0, 0, 0
            limit = time.perf_counter() + 120
            for warm in (True, False):
                for id, _ in asked[:3] if warm else asked:
                    took, cursor = self.run(sql, id)
                    if warm:
                        continue
                    rows = {row[0] for row in cursor} - {id}
                    times.append(took * 1000)
                    found, true = found + len(rows), true + len(wanted[id])
                    right += len(rows & wanted[id])
                    if time.perf_counter() > limit:
                        break
            times.sort()
            self.record("one", way.name, note=way.note, build=seconds, size=size, queries=len(times), median_ms=statistics.median(times),
                        p95_ms=times[int(len(times) * 0.95)], precision=right / max(found, 1), recall=right / max(true, 1))
            if store and way.index:
                self.store(way)
            self.drop(way)
            self.run("VACUUM desk")
        self.run("DROP TABLE asked")

    def store(self, way):
        """New rows into the table with this index only, and what they write ahead."""
        count = max(100, min(10000, self.rows // 100))
        names = "id, petitioner, department, title, body, filed_at, cluster, variant" + (f", {way.column[0]}" if way.column else "")
        values = "id + 1000000000, petitioner, department, title, body, filed_at, cluster, variant"
        if way.column:
            values += f", {way.column[2].replace('fp::', 'simhash(body)::')}"
        self.run("CHECKPOINT")
        before = self.value("SELECT pg_current_wal_insert_lsn()")
        seconds, _ = self.run(f"INSERT INTO desk ({names}) SELECT {values} FROM desk WHERE id <= {count}")
        wal = int(self.db.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", (before,)).fetchone()[0])
        self.run("DELETE FROM desk WHERE id > 1000000000")
        self.record("store", way.name, inserted=count, rows_per_second=count / seconds, wal_per_row=wal / count)

    def table(self):
        self.table_dedup()
        rows = self.db.execute("SELECT id, body FROM desk ORDER BY id LIMIT %s", (PYTHON_ROWS,)).fetchall()
        for way in (self.table_datasketch, self.table_rensa, self.table_chdb, self.table_duckdb, self.table_trgm):
            name = way.__name__.removeprefix("table_")
            try:
                way(rows)
            except ImportError as error:
                print(f"    skipped: {name} ({error})", flush=True)
            except Exception as error:  # one alternative that fails must not end the others
                print(f"    failed: {name}: {str(error).splitlines()[0] if str(error) else repr(error)}", flush=True)

    def score(self, name, seconds, groups, limit=None, note=""):
        """Counts pairs of rows that share a group (id -> group; a row that is not there is alone)."""
        limit = limit or self.rows
        by_group, by_cluster, by_both = {}, {}, {}
        for id, cluster in self.db.execute("SELECT id, cluster FROM desk ORDER BY id LIMIT %s", (limit,)):
            group = groups.get(id, ("alone", id))
            for counts, key in ((by_group, group), (by_cluster, cluster), (by_both, (group, cluster))):
                counts[key] = counts.get(key, 0) + 1
        pairs = lambda counts: sum(n * (n - 1) // 2 for n in counts.values())
        found, truth, right = pairs(by_group), pairs(by_cluster), pairs(by_both)
        self.record("table", name, note=note, of=limit, seconds=seconds, rows_per_second=limit / seconds,
                    precision=right / max(found, 1), recall=right / max(truth, 1))

    def table_dedup(self):
        for name, options in (("pg_dedup, dedup", "{}"), ("pg_dedup, within 10", '{"distance": 10, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}')):
            seconds, _ = self.run("CREATE UNLOGGED TABLE found AS SELECT id, keeper FROM dedup('SELECT id, body FROM desk ORDER BY id', %s)", options)
            self.score(name, seconds, dict(self.db.execute("SELECT id, keeper FROM found")))
            self.run("DROP TABLE found")

    def table_datasketch(self, rows):
        from datasketch import MinHash, MinHashLSH

        started = time.perf_counter()
        lsh, groups = MinHashLSH(threshold=0.5, num_perm=128), Verified()
        made = MinHash.bulk([[gram.encode() for gram in grams(body)] for _, body in rows], num_perm=128)
        for (id, body), signature in zip(rows, made):
            if groups.add(id, body, lsh.query(signature)):
                lsh.insert(id, signature)
        self.score("datasketch, MinHash", time.perf_counter() - started, groups.of, len(rows), "compared")

    def table_rensa(self, rows):
        from rensa import RMinHash, RMinHashLSH

        started = time.perf_counter()
        lsh, groups = RMinHashLSH(threshold=0.5, num_perm=128, num_bands=32), Verified()
        for id, body in rows:
            signature = RMinHash(num_perm=128, seed=1)
            signature.update(list(grams(body)))
            if groups.add(id, body, lsh.query(signature)):
                lsh.insert(id, signature)
        self.score("rensa, MinHash", time.perf_counter() - started, groups.of, len(rows), "compared")

    def table_chdb(self, rows):
        chdb = importlib.import_module("chdb")
        path = self.path
        read = f"file('{path}', 'CSVWithNames')"
        for name, keys in (("ClickHouse, SimHash", ["toString(ngramSimHashUTF8(body))"]),
                           ("ClickHouse, MinHash", ["toString(ngramMinHashUTF8(body).1)", "toString(ngramMinHashUTF8(body).2)"])):
            started = time.perf_counter()
            sets = Sets()
            for key in keys:
                text = chdb.query(f"SELECT arrayStringConcat(groupArray(toString(id)), ' ') FROM {read} GROUP BY {key} HAVING count() > 1", "TSV")
                for line in str(text).splitlines():
                    ids = [int(id) for id in line.split()]
                    for other in ids[1:]:
                        sets.join(ids[0], other)
            self.score(name, time.perf_counter() - started, sets.groups(), note="chdb, equal hashes")

    def table_duckdb(self, rows):
        duckdb = importlib.import_module("duckdb")
        started = time.perf_counter()
        db = duckdb.connect()
        pairs = db.execute(
            f"SELECT a.id, b.id FROM (SELECT id, body FROM read_csv('{self.path}', header = true)) AS a "
            f"JOIN (SELECT id, body FROM read_csv('{self.path}', header = true)) AS b ON a.body = b.body AND a.id < b.id"
        ).fetchall()
        sets = Sets()
        for a, b in pairs:
            sets.join(a, b)
        self.score("DuckDB, equality join", time.perf_counter() - started, sets.groups(), note="equal texts only")

    def table_trgm(self, rows):
        if not self.has("pg_trgm"):
            return
        count = min(TRGM_ROWS, self.rows)
        self.run(f"CREATE TABLE few AS SELECT id, body FROM desk ORDER BY id LIMIT {count}")
        self.run("SET pg_trgm.similarity_threshold = 0.5")
        started = time.perf_counter()
        self.run("CREATE INDEX ON few USING gin (body gin_trgm_ops)")
        sets = Sets()
        for a, b in self.db.execute("SELECT a.id, b.id FROM few AS a JOIN few AS b ON a.body % b.body AND a.id < b.id"):
            sets.join(a, b)
        self.score("pg_trgm, self-join", time.perf_counter() - started, sets.groups(), count, "similarity 0.5")
        self.run("DROP TABLE few")


def grams(text):
    return {text[at : at + 2] for at in range(max(len(text) - 1, 1))}


class Verified:
    """Groups of rows that are compared with the first row of a group: J >= 0.5, as pg_dedup compares."""

    def __init__(self):
        self.of, self.bodies = {}, {}

    def add(self, id, body, candidates):
        """Whether the row begins a group."""
        mine = grams(body)
        for other in candidates:
            theirs = grams(self.bodies[other])
            if 2 * len(mine & theirs) >= len(mine | theirs):
                self.of[id] = other
                return False
        self.of[id], self.bodies[id] = id, body
        return True


class Sets:
    """Disjoint sets."""

    def __init__(self):
        self.parent = {}

    def find(self, x):
        while (above := self.parent.setdefault(x, x)) != x:
            self.parent[x] = self.parent[above]
            x = above
        return x

    def join(self, a, b):
        self.parent[self.find(a)] = self.find(b)

    def groups(self):
        return {x: self.find(x) for x in list(self.parent)}


def versions(db):
    found = {"PostgreSQL": db.execute("SHOW server_version").fetchone()[0]}
    for name, version in db.execute("SELECT extname, extversion FROM pg_extension WHERE extname <> 'plpgsql'"):
        found[name] = version
    for name in ("datasketch", "rensa", "chdb", "duckdb"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--only", required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    parts = set(arguments.only.split(","))
    bench = Bench(arguments)
    bench.fingerprints()
    if parts & {"one", "store"}:
        bench.one("store" in parts)
    if "table" in parts:
        bench.table()
    # One run has several sizes, and may be one of parts: what others measured stays.
    kept = []
    measured = {(result["rows"], result["part"], result["name"]) for result in bench.results}
    if os.path.exists(arguments.json):
        with open(arguments.json, encoding="utf-8") as file:
            kept = [result for result in json.load(file)["results"] if (result["rows"], result["part"], result["name"]) not in measured]
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump({"date": datetime.date.today().isoformat(), "machine": arguments.machine, "versions": versions(bench.db),
                   "results": kept + bench.results}, file, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
