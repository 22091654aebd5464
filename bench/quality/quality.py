"""One labelled set by pg_dedup in one call and by other tools at their best threshold. Called by bench/quality/run."""

import csv
import importlib
import os
import re
import sys
import time
import unicodedata
from collections import defaultdict

import psycopg

LSH = [0.3, 0.4, 0.5, 0.6, 0.7]
TRGM = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
# Seconds that one self-join of pg_trgm may take.
TRGM_LIMIT = int(os.environ.get("TRGM_LIMIT", "600"))


class Labels:
    """The judged pairs. Those that nobody judged are wrong, those judged unsure do not count; nor do those within a source."""

    def __init__(self, directory, ids, sources):
        self.sources = sources
        self.same, self.close, self.unsure = set(), set(), set()
        with open(os.path.join(directory, "petition_pairs.csv"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                pair, matter = self.pair(row["id1"], row["id2"]), row.get("matter") or "same"
                if pair[0] not in ids or pair[1] not in ids:
                    continue
                if matter == "same":
                    self.same.add(pair)
                    if float(row.get("jaccard3") or 1) >= 0.5:
                        self.close.add(pair)
                elif matter == "unsure":
                    self.unsure.add(pair)

    @staticmethod
    def pair(a, b):
        return (a, b) if a < b else (b, a)

    def score(self, found, asked):
        """Precision and recall of pairs against those that are asked for."""
        if self.sources:
            found = {(a, b) for a, b in found if self.sources[a] != self.sources[b]}
        right, wrong = len(found & asked), len(found - self.same - self.unsure)
        return (right / (right + wrong) if right + wrong else 0.0, right / len(asked) if asked else 0.0)

    def matters(self, ids):
        """Rows of one matter, each row in one."""
        root = {row: row for row in ids}

        def find(row):
            while root[row] != row:
                root[row] = root[root[row]]
                row = root[row]
            return row

        for a, b in self.same:
            root[find(a)] = find(b)
        matters = defaultdict(set)
        for row in ids:
            matters[find(row)].add(row)
        return list(matters.values())


def f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class Bench:
    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "petitions.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.texts = {row["id"]: row.get("body") or row.get("text") or "" for row in rows}
        sources = {row["id"]: row["source"] for row in rows if row.get("source")}
        self.labels = Labels(directory, self.texts, sources)
        letters = "".join(list(self.texts.values())[:200])
        self.spaceless = sum("\u4e00" <= c <= "\u9fff" for c in letters) * 3 >= len(letters)

    def print(self, way, found, seconds, note=""):
        close, every = self.labels.score(found, self.labels.close), self.labels.score(found, self.labels.same)
        cells = [f"{value:.3f}" for value in (*close, f1(*close), *every, f1(*every))]
        print(f"| {way} | {' | '.join(cells)} | {len(found)} | {seconds:.1f} | {note} |", flush=True)

    def run(self):
        labels = self.labels
        print(f"\n## {self.directory}: {len(self.texts)} texts, {len(labels.same)} true pairs, {len(labels.close)} of J >= 0.5\n")
        print("| way | P 0.5 | R 0.5 | F1 0.5 | P all | R all | F1 all | pairs | s | |\n|---|---|---|---|---|---|---|---|---|---|")
        self.one_call()
        self.records()
        self.trgm()
        for library in ("datasketch", "rensa"):
            try:
                module = importlib.import_module(library)
            except ImportError:
                print(f"| {library}: not installed | | | | | | | | | |")
                continue
            self.best(library, lambda: self.lsh(module, library))

    def best(self, name, ways):
        """Of several thresholds the one with the best F1 by the labels, which no user knows."""
        tried = list(ways())
        note, found, seconds = max(tried, key=lambda it: f1(*self.labels.score(it[1], self.labels.same)))
        self.print(f"{name}, {note} (best of {len(tried)} by the labels)", found, seconds)

    def connect(self):
        admin = psycopg.connect(dbname="postgres", autocommit=True)
        admin.execute("DROP DATABASE IF EXISTS quality")
        # pg_trgm sees letters only in a locale that knows them.
        admin.execute("CREATE DATABASE quality TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
        db = psycopg.connect(dbname="quality", autocommit=True)
        db.execute("CREATE EXTENSION pg_dedup")
        db.execute("CREATE TABLE texts (n bigint PRIMARY KEY, id text, body text)")
        with db.cursor() as cursor, cursor.copy("COPY texts FROM STDIN") as copy:
            for number, (key, body) in enumerate(self.texts.items()):
                copy.write_row((number, key, body))
        db.execute("ANALYZE texts")
        return db

    def one_call(self):
        self.db, notices = self.connect(), []
        self.db.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        self.call("**pg_dedup, one call**", "SELECT id, keeper, stage FROM dedup('SELECT n, body FROM texts ORDER BY n')")
        for notice in notices:
            if "chose" in notice:
                print(f"| {notice} | | | | | | | | | |")

    def call(self, way, sql):
        started = time.perf_counter()
        rows = self.db.execute(sql).fetchall()
        seconds = time.perf_counter() - started
        ids, groups = list(self.texts), defaultdict(list)
        for row, keeper, _ in rows:
            groups[keeper].append(ids[row])
        found = {Labels.pair(a, b) for group in groups.values() for at, a in enumerate(group) for b in group[:at]}
        kept = {ids[keeper] for keeper in groups}
        matters = self.labels.matters(ids)
        lost = sum(not matter & kept for matter in matters)
        self.print(way, found, seconds, f"{lost} of {len(matters)} matters lose all rows ({lost / len(matters):.2%})")

    def records(self):
        """Columns of the same rows, if there is such a file."""
        path = os.path.join(self.directory, "columns.csv")
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            names, rows = [name for name in reader.fieldnames if name != "id"], {row["id"]: row for row in reader}
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        self.db.execute(f"CREATE TABLE records (n bigint PRIMARY KEY, {columns.replace(', ', ' text, ')} text)")
        with self.db.cursor() as cursor, cursor.copy("COPY records FROM STDIN") as copy:
            for number, key in enumerate(self.texts):
                copy.write_row((number, *(rows[key][name] or None for name in names)))
        contained = "SELECT id, keeper, stage FROM dedup('SELECT n, body FROM texts ORDER BY n', '{\"contained\": 0.7}')"
        self.call("pg_dedup, contained 0.7", contained)
        try:
            self.call("**pg_dedup, one call of the columns**", "SELECT id, keeper, stage FROM dedup('records')")
        except psycopg.Error as error:
            print(f"| pg_dedup, one call of the columns: {str(error).splitlines()[0]} | | | | | | | | | |")
        self.call("pg_dedup, records", "SELECT id, keeper, stage FROM dedup('SELECT * FROM records ORDER BY n', '{\"method\": \"records\"}')")

    def trgm(self):
        try:
            self.db.execute("CREATE EXTENSION pg_trgm")
        except psycopg.Error as error:
            print(f"| pg_trgm: {str(error).splitlines()[0]} | | | | | | | | | |")
            return
        started = time.perf_counter()
        self.db.execute("CREATE INDEX ON texts USING gin (body gin_trgm_ops)")
        tried = list(self.trgm_joins(time.perf_counter() - started))
        if tried:
            self.best("pg_trgm", lambda: tried)

    def trgm_joins(self, indexing):
        """The pairs of each threshold, downwards; a lower one takes longer, so the first that does not end is the last."""
        ids = list(self.texts)
        self.db.execute(f"SET statement_timeout = '{TRGM_LIMIT}s'")
        for threshold in TRGM:
            self.db.execute(f"SET pg_trgm.similarity_threshold = {threshold}")
            started = time.perf_counter()
            try:
                rows = self.db.execute("SELECT a.n, b.n FROM texts a JOIN texts b ON a.n < b.n AND a.body % b.body").fetchall()
            except psycopg.errors.QueryCanceled:
                print(f"| pg_trgm, similarity {threshold}: not ended after {TRGM_LIMIT} s | | | | | | | | | |", flush=True)
                break
            found = {Labels.pair(ids[a], ids[b]) for a, b in rows}
            yield f"similarity {threshold}", found, indexing + time.perf_counter() - started
        self.db.execute("RESET statement_timeout")

    def sets(self, n):
        normal = lambda text: re.sub(r"\W+", "" if self.spaceless else " ", unicodedata.normalize("NFKC", text).lower())
        return {key: {body[at : at + n] for at in range(max(len(body) - n + 1, 1))} for key, body in ((k, normal(t)) for k, t in self.texts.items())}

    def lsh(self, module, library):
        for n in (3,) if self.spaceless else (3, 5):
            sets = self.sets(n)
            started = time.perf_counter()
            signatures = {}
            for key, grams in sets.items():
                if library == "datasketch":
                    signature = module.MinHash(num_perm=128)
                    signature.update_batch([gram.encode() for gram in grams])
                else:
                    signature = module.RMinHash(num_perm=128, seed=1)
                    signature.update(list(grams))
                signatures[key] = signature
            signing = time.perf_counter() - started
            for threshold in LSH:
                started = time.perf_counter()
                found = self.indexed(module, library, signatures, threshold)
                yield f"{n}-grams, threshold {threshold}", found, signing + time.perf_counter() - started

    def indexed(self, module, library, signatures, threshold):
        """Pairs that an index of this threshold gives, their estimated similarity at least that."""
        keys = list(signatures)
        if library == "datasketch":
            index = module.MinHashLSH(threshold=threshold, num_perm=128)
        else:
            index = module.RMinHashLSH(threshold=threshold, num_perm=128, num_bands=32)
        found = set()
        for number, key in enumerate(keys):
            signature = signatures[key]
            for other in index.query(signature):
                if signatures[keys[other]].jaccard(signature) >= threshold:
                    found.add(Labels.pair(keys[other], key))
            index.insert(number, signature)
        return found


Bench(sys.argv[1]).run()
