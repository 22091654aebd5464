"""Groups of whole tables by pg_dedup and by its peers: seconds, peak memory, precision and recall. Called by bench/compare/peers.

Each peer is a function that is given the rows, says when its clock starts, and returns groups. It runs in a process of its own,
which is watched: its memory and that of its children, and of the server's process that works for it, shared pages by their share.
"""

import argparse
import csv
import datetime
import functools
import importlib.metadata
import itertools
import json
import os
import pathlib
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TABLES = {
    "petitions": ["petitioner", "department", "title", "body", "filed_at"],
    "tickets": ["title", "body"],
    "people": ["first_name", "last_name", "street", "city", "postcode", "phone", "email", "born"],
    "products": ["title", "maker", "model", "price", "description"],
    "letters": ["body"],
}
TYPES = {"filed_at": "timestamp", "born": "date", "price": "numeric"}
TEXTS = {"petitions", "tickets", "letters"}
RECORDS = {"people", "products"}
LETTER = """To the housing department: we, the tenants of {estate}, write to you because the heating of our houses has been out of order since
the first cold week of the year. The caretaker of {estate} was told three times and answers that a part is on order. Old people and small
children live in our houses, and nobody should have to wear a coat in the kitchen. Last winter it was the same, and then a repair was promised
that has not come. We ask you to have the heating mended within a week, to tell us the day, and to return a fair share of what we have paid
for warmth that we did not get. If that cannot be done, please say in writing why, so that we can turn to the office that decides on rents. Yours sincerely, {signed}"""
# The generator of products compares each row with all before it.
CHUNK = 25_000


class Job:
    """What a peer is given: the rows of a table."""

    def __init__(self, arguments):
        self.table, self.out, self.limit = arguments.table, pathlib.Path(arguments.out), arguments.limit
        self.path = self.out / "data" / f"{arguments.table}-{arguments.rows}.csv"
        with open(self.path, encoding="utf-8", newline="") as file:
            self.columns = next(csv.reader(file))[1:]
        # Of two tables in one file so many rows are the first's.
        beside = self.path.with_suffix(".split")
        self.split = int(beside.read_text()) if beside.exists() else None
        self.spaceless = self.table == "petitions"
        self.started, self.seconds, self.note = 0.0, None, None

    def say(self, **what):
        print(json.dumps(what), flush=True)

    def begin(self):
        self.started = time.perf_counter()
        self.say(begin=True)

    def end(self):
        self.seconds = time.perf_counter() - self.started

    def rows(self):
        with open(self.path, encoding="utf-8", newline="") as file:
            return [(int(row["id"]), row) for row in csv.DictReader(file)]

    def texts(self):
        return [(id, row["body"]) for id, row in self.rows()]

    def tokens(self, text):
        """Words; where words are not written apart, groups of three characters."""
        return {text[at : at + 3] for at in range(max(len(text) - 2, 1))} if self.spaceless else set(text.lower().split())

    def server(self):
        """A session that works in a table of these rows; its process is watched."""
        import psycopg

        db = psycopg.connect(autocommit=True)
        if not db.execute("SELECT 1 FROM pg_database WHERE datname = 'peers'").fetchone():
            # pg_trgm sees letters only in a locale that knows them.
            db.execute("CREATE DATABASE peers TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
        db = psycopg.connect(dbname="peers", autocommit=True)
        name = self.path.stem.replace("-", "_")
        if not db.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0]:
            types = TYPES if self.table.split("_")[0] in TABLES else {}
            columns = ", ".join(f'"{column}" {types.get(column, "text")}' for column in self.columns)
            with db.transaction(), db.cursor() as cursor:
                cursor.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, {columns})")
                with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)") as copy, open(self.path, "rb") as file:
                    while block := file.read(1 << 20):
                        copy.write(block)
            db.execute(f"VACUUM ANALYZE {name}")
        db.execute(f"DROP TABLE IF EXISTS found_{name}")
        # Another session: the memory of this one was used by loading.
        db = psycopg.connect(dbname="peers", autocommit=True)
        db.execute(f"SET statement_timeout = '{self.limit}s'")
        self.say(backend=db.info.backend_pid)
        self.say(version=db.execute("SHOW server_version").fetchone()[0].split()[0], of="PostgreSQL")
        return db, name


def extension(db, name):
    db.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    return db.execute("SELECT extversion FROM pg_extension WHERE extname = %s", (name,)).fetchone()[0]


def pg_dedup(job, options="{}"):
    db, name = job.server()
    job.say(version=extension(db, "pg_dedup"))
    notices = []
    db.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    job.begin()
    if job.split:
        sides = (f"SELECT * FROM {name} WHERE id {side} {job.split} ORDER BY id" for side in ("<=", ">"))
        pairs = db.execute("SELECT a, b FROM dedup_link(%s, %s, %s)", (*sides, options)).fetchall()
        job.end()
        return joined(pairs)
    db.execute(f"CREATE UNLOGGED TABLE found_{name} AS SELECT id, keeper FROM dedup('{name}', '{options}')")
    job.end()
    # What it took the table for is the first thing that it says.
    job.note = notices[0] if notices else None
    return dict(db.execute(f"SELECT id, keeper FROM found_{name}").fetchall())


def pg_trgm(job):
    db, name = job.server()
    job.say(version=extension(db, "pg_trgm"))
    db.execute("SET pg_trgm.similarity_threshold = 0.5")
    job.begin()
    db.execute(f"DROP INDEX IF EXISTS {name}_trgm")
    db.execute(f"CREATE INDEX {name}_trgm ON {name} USING gin (body gin_trgm_ops)")
    db.execute(f"CREATE UNLOGGED TABLE found_{name} AS SELECT a.id, b.id AS other FROM {name} a JOIN {name} b ON a.body % b.body AND a.id < b.id")
    job.end()
    return joined(db.execute(f"SELECT id, other FROM found_{name}").fetchall())


def dedup_pg(job):
    from dedup_pg import DedupIndex
    from dedup_pg.backend.sqlalchemy import SQLAlchemyBackend
    from dedup_pg.helpers import n_grams
    from sqlalchemy import MetaData, create_engine, text

    db, _ = job.server()
    engine = create_engine("postgresql+psycopg2:///peers")
    metadata = MetaData()
    lsh = DedupIndex(SQLAlchemyBackend(engine=engine, base_or_metadata=metadata, table_name="bands"))
    metadata.drop_all(engine)
    metadata.create_all(engine)
    with engine.connect() as connection:
        job.say(backend=connection.execute(text("SELECT pg_backend_pid()")).scalar(), also=True)
    rows = job.texts()
    job.begin()
    groups = {id: str(lsh.query(n_grams(text, n=3))) for id, text in rows}
    job.end()
    db.close()
    return groups


def datasketch(job, threshold):
    from datasketch import MinHash, MinHashLSH

    rows = job.texts()
    job.begin()
    lsh, pairs, made = MinHashLSH(threshold=threshold, num_perm=128), [], {}
    for (id, _), signature in zip(rows, MinHash.bulk([[token.encode() for token in job.tokens(text)] for _, text in rows], num_perm=128)):
        made[id] = signature
        # The index gives candidates.
        pairs.extend((id, other) for other in lsh.query(signature) if signature.jaccard(made[other]) >= threshold)
        lsh.insert(id, signature)
    groups = joined(pairs)
    job.end()
    return groups


def rensa(job, threshold):
    from rensa import RMinHashDeduplicator

    rows = job.texts()
    job.begin()
    # What is kept is told at once; of the rest is asked which kept ones they repeat.
    dedup = RMinHashDeduplicator(threshold=threshold, num_perm=128, use_lsh=True)
    kept = dedup.add_pairs((str(id), list(job.tokens(text))) for id, text in rows)
    rest = [(id, list(job.tokens(text))) for (id, text), keep in zip(rows, kept) if not keep]
    others = dedup.get_duplicate_sets([tokens for _, tokens in rest])
    groups = joined((id, int(other)) for (id, _), found in zip(rest, others) for other in found)
    job.end()
    return groups


def text_dedup(job):
    import pyarrow
    import pyarrow.parquet

    rows = job.texts()
    # Its words are what stands between other signs, so Chinese is given to it with a space between characters.
    texts = [" ".join(text) if job.spaceless else text for _, text in rows]
    work = job.out / f"text-dedup-{job.path.stem}"
    work.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"body": texts}), work / "rows.parquet")
    command = [job.out / "env-text-dedup/bin/python", "-m", "text_dedup.minhash", "--path", "parquet", "--data_files", work / "rows.parquet", "--split", "train",
               "--cache_dir", work / "cache", "--output", work / "out", "--column", "body", "--batch_size", "10000", "--debug"]
    if job.spaceless:
        command += ["--ngram", "3"]
    job.begin()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    job.end()

    class Sets:
        """What its disjoint sets are pickled as; the package itself is in another environment."""

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            return Sets if name == "UnionFind" else super().find_class(module, name)

    with open(work / "out/uf.pkl", "rb") as file:
        parent = Reader(file).load().parent
    shutil.rmtree(work, ignore_errors=True)
    return joined((rows[a][0], rows[b][0]) for a, b in parent.items())


def clickhouse(job):
    import chdb

    server = str(chdb.query("SELECT version()", "TSV")).strip()
    job.say(version=f"{server} by chdb {importlib.metadata.version('chdb')}")
    job.begin()
    # Of four blocks of 16 bits one is equal where three bits differ.
    pairs = chdb.query(
        f"""WITH hashes AS (SELECT id, ngramSimHashUTF8(body) AS hash FROM file('{job.path}', 'CSVWithNames')),
            blocks AS (SELECT id, hash, block, bitAnd(bitShiftRight(hash, 16 * block), 65535) AS bits FROM hashes ARRAY JOIN [0, 1, 2, 3] AS block)
            SELECT DISTINCT a.id, b.id FROM blocks AS a JOIN blocks AS b ON a.block = b.block AND a.bits = b.bits
            WHERE a.id < b.id AND bitHammingDistance(a.hash, b.hash) <= 3""", "TSV")
    groups = joined(tuple(map(int, line.split())) for line in str(pairs).splitlines())
    job.end()
    return groups


def splink(job):
    import duckdb
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    connection = duckdb.connect()
    columns = ", ".join(f"""nullif(trim("{column}"), '') AS "{column}\"""" for column in job.columns)
    connection.execute(f"CREATE TABLE source AS SELECT id AS unique_id, {columns} FROM read_csv('{job.path}', header = true, all_varchar = true)")
    if job.columns == TABLES["people"]:
        # The comparisons of its quickstart; columns that depend on others, as a postcode on the city, are left out as it advises.
        comparisons = [
            cl.JaroWinklerAtThresholds("first_name", [0.9, 0.7]), cl.JaroAtThresholds("last_name", [0.9, 0.7]),
            cl.DateOfBirthComparison("born", input_is_string=True, datetime_metrics=["year", "month"], datetime_thresholds=[1, 1]),
            cl.ExactMatch("city").configure(term_frequency_adjustments=True), cl.EmailComparison("email"),
        ]
        certain, training = [block_on("first_name", "last_name")], [block_on("first_name", "last_name"), block_on("born")]
        blocking = [*training, block_on("email")]
    elif job.table == "products":
        # It is not made for titles: the model number is taken out of them, and equal ones are compared.
        connection.execute("""ALTER TABLE source ADD COLUMN code varchar""")
        connection.execute("""UPDATE source SET code = nullif(upper(replace(coalesce(model, regexp_extract(title,
            '\\b[A-Za-z]{1,3}-?[0-9]{2,}[A-Za-z/]*')), '-', '')), '')""")
        comparisons = [
            cl.JaroWinklerAtThresholds("title", [0.95, 0.88, 0.8]), cl.ExactMatch("maker").configure(term_frequency_adjustments=True),
            cl.LevenshteinAtThresholds("code", [1, 2]), cl.LevenshteinAtThresholds("price", 1),
        ]
        certain, training = [block_on("code")], [block_on("code"), block_on("maker", "substr(title, 1, 12)")]
        blocking = training
    else:
        comparisons, certain, training, blocking = by_counts(connection, job.columns)
    job.begin()
    api, tables = DuckDBAPI(connection=connection), ["source"]
    if job.split:
        tables = ["one", "other"]
        for table, side in zip(tables, ("<=", ">")):
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM source WHERE unique_id::bigint {side} {job.split}")
    settings = SettingsCreator(link_type="link_only" if job.split else "dedupe_only", comparisons=comparisons, blocking_rules_to_generate_predictions=blocking)
    linker = Linker([api.register(table) for table in tables], settings)
    linker.training.estimate_probability_two_random_records_match(certain, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    predictions = linker.inference.predict(threshold_match_probability=0.9)
    if job.split:
        clusters = linker.clustering.cluster_using_single_best_links(predictions, duplicate_free_datasets=tables, threshold_match_probability=0.95).as_dict()
    else:
        clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(predictions, 0.95).as_dict()
    job.end()
    return dict(zip(map(int, clusters["unique_id"]), clusters["cluster_id"]))


def by_counts(connection, columns):
    """For a table that nobody looked at: columns of a few words are compared; pairs are those of one value, or of one value in two columns,
    or of a rare word of the longest of them, if these are twenty a row at most; it learns from two such rules without a column in common."""
    import splink.comparison_library as cl
    from splink import block_on

    def one(sql):
        return connection.execute(sql).fetchall()[0][0] or 0

    rows = one("SELECT count(*) FROM source")
    words = {column: one(f"""SELECT avg(len(string_split("{column}", ' '))) FROM source""") for column in columns}
    short = [column for column in columns if 0 < words[column] <= 12]
    title = max(short, key=words.get)
    pairs = {}
    for rule in [(column,) for column in short] + list(itertools.combinations(short, 2)):
        keys = ", ".join(f'"{column}"' for column in rule)
        filled = " AND ".join(f'"{column}" IS NOT NULL' for column in rule)
        number = one(f"SELECT sum(n * (n - 1) // 2) FROM (SELECT count(*) AS n FROM source WHERE {filled} GROUP BY {keys})")
        if 0 < number <= 20 * rows and not any(set(known) <= set(rule) for known in pairs):
            pairs[rule] = number
    comparisons = [cl.JaroWinklerAtThresholds(column, [0.95, 0.88, 0.8] if words[column] > 3 else [0.9, 0.7]).configure(
        term_frequency_adjustments=True) for column in short]
    learned = sorted((rule for rule in pairs if pairs[rule] >= rows // 50), key=pairs.get)
    training = learned[:1] + [rule for rule in learned if not set(rule) & set(learned[0])][:1]
    blocking = [block_on(*rule) for rule in pairs]
    if words[title] > 3:
        connection.execute("ALTER TABLE source ADD COLUMN words varchar[]")
        connection.execute(f"""CREATE TABLE words AS SELECT DISTINCT unique_id, unnest(string_split(lower("{title}"), ' ')) AS word FROM source""")
        connection.execute("""UPDATE source SET words = of.words FROM (SELECT unique_id, list(word) AS words FROM words
            WHERE word IN (SELECT word FROM words GROUP BY word HAVING count(*) BETWEEN 2 AND 40) GROUP BY unique_id) AS of
            WHERE of.unique_id = source.unique_id""")
        blocking.append(block_on("words", arrays_to_explode=["words"]))
    training = [block_on(*rule) for rule in training] or blocking[-1:]
    return comparisons, training[:1], training, blocking


def goldenmatch(job):
    # Else what it finds depends on what it was given before, and on how fast the machine is.
    os.environ |= {"GOLDENMATCH_AUTOCONFIG_MEMORY": "0", "GOLDENMATCH_AUTOCONFIG_DETERMINISTIC": "1"}
    import goldenmatch as gm
    import polars
    import pyarrow.csv
    from goldenmatch.core.autoconfig_controller import ControllerNotConfidentError

    types = {"id": "int64", **{column: "string" for column in job.columns}}
    table = pyarrow.csv.read_csv(job.path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
                                 convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True))
    ids = table.column("id").to_pylist()
    table = table.select(job.columns)
    # It fails at the tables of Arrow that it takes elsewhere.
    tables = [polars.from_arrow(side) for side in (table.slice(0, job.split), table.slice(job.split))] if job.split else [table]
    call = gm.match_df if job.split else gm.dedupe_df
    job.begin()
    try:
        result = call(*tables)
    except ControllerNotConfidentError:
        # The way out that its documentation names, short of running what it calls degenerate.
        job.note = "not confident, told to go on"
        try:
            result = call(*tables, confidence_required=False)
        except ControllerNotConfidentError as error:
            job.say(stopped="refuses", error=str(error)[:200])
            sys.exit()
    if job.split:
        matched = result.matched.to_pydict()
        groups = joined((ids[a], ids[b]) for a, b in zip(matched["__target_row_id__"], matched["__ref_row_id__"]))
        job.end()
        return groups
    groups = {ids[member]: number for number, cluster in result.clusters.items() for member in cluster["members"]}
    job.end()
    return groups


def dedupe(job):
    import dedupe as library

    with open(job.path.with_suffix(".labels"), encoding="ascii") as file:
        labels = dict(enumerate(map(int, file), 1))
    rows = {id: {column: row[column].strip().lower() or None for column in job.columns} for id, row in job.rows()}
    of = {id(row): labels[number] for number, row in rows.items()}
    variables = [library.variables.Text(column, has_missing=True) if column == "description" else library.variables.String(column, has_missing=True)
                 for column in job.columns]
    job.begin()
    deduper = library.Dedupe(variables, in_memory=True)
    deduper.prepare_training(rows)
    # The person who is asked about pairs is played by the labels.
    for _ in range(100):
        (pair,) = deduper.uncertain_pairs()
        same = of[id(pair[0])] == of[id(pair[1])]
        deduper.mark_pairs({"match": [pair] if same else [], "distinct": [] if same else [pair]})
    deduper.train()
    groups = {record: number for number, (records, _) in enumerate(deduper.partition(rows, 0.5)) for record in records}
    job.end()
    return groups


# Function, tables that it is for, package whose version is named.
PEERS = {
    "pg_dedup": (pg_dedup, TEXTS | RECORDS, None),
    "GoldenMatch": (goldenmatch, RECORDS, "goldenmatch"),
    "Splink": (splink, RECORDS, "splink"),
    "dedupe": (dedupe, RECORDS, "dedupe"),
    "text-dedup": (text_dedup, TEXTS, "text-dedup"),
    "datasketch 0.5": (functools.partial(datasketch, threshold=0.5), TEXTS, "datasketch"),
    "datasketch 0.8": (functools.partial(datasketch, threshold=0.8), TEXTS, "datasketch"),
    "rensa 0.5": (functools.partial(rensa, threshold=0.5), TEXTS, "rensa"),
    "rensa 0.8": (functools.partial(rensa, threshold=0.8), TEXTS, "rensa"),
    "dedup-pg": (dedup_pg, TEXTS, "dedup-pg"),
    "pg_trgm": (pg_trgm, TEXTS, None),
    "ClickHouse": (clickhouse, TEXTS, None),
    # What a person should look at too: for the page of records.
    "pg_dedup 0.5": (functools.partial(pg_dedup, options='{"similarity": 0.5}'), set(), None),
}


def joined(pairs):
    """Groups of what pairs hold together."""
    parent = {}

    def find(x):
        while (above := parent.setdefault(x, x)) != x:
            parent[x] = parent[above]
            x = above
        return x

    for a, b in pairs:
        parent[find(a)] = find(b)
    return {x: find(x) for x in list(parent)}


def version(package):
    """Of the environment that this runs in, or else of that of text-dedup."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        paths = [str(path) for path in pathlib.Path(sys.prefix + "-text-dedup").glob("lib/*/site-packages")]
        return next(importlib.metadata.distributions(name=package, path=paths)).version


def work(arguments):
    """A peer in its own process: groups into a file, the rest as lines."""
    job = Job(arguments)
    function, _, package = PEERS[arguments.peer]
    if package:
        job.say(version=version(package))
    groups = function(job)
    with open(arguments.groups, "wb") as file:
        pickle.dump(groups, file)
    job.say(seconds=job.seconds, note=job.note)


def make(table, rows, out, programs, folder):
    """The rows as CSV, and beside them whom or what each is of."""
    path = folder / f"{table}-{rows}.csv"
    if path.exists():
        return
    print(f"    generating {rows} rows of {table}", flush=True)
    columns = TABLES[table]
    folder.mkdir(exist_ok=True)
    scratch = folder / f"scratch-{table}-{rows}"
    quality = [str(programs / "dedup_quality")]

    def made():
        if table == "petitions":
            with subprocess.Popen([programs / "petition_desk", "--rows", str(rows)], stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
                for row in csv.DictReader(process.stdout):
                    yield row["cluster"], row
        elif table == "people":
            import people

            yield from people.people(rows)
        elif table == "letters":
            yield from letters(rows)
        elif table == "tickets":
            yield from labelled(quality + ["english", scratch, "--rows", str(rows)], "petitions.csv")
        else:
            for at in range(0, rows, CHUNK):
                size = str(min(CHUNK, rows - at))
                command = quality + ["records", scratch, "--kind", "products", "--rows", size, "--seed", str(at // CHUNK + 1)]
                for group, row in labelled(command, "columns.csv"):
                    yield at + group, row

    def labelled(command, name):
        scratch.mkdir(exist_ok=True)
        subprocess.run(command, check=True)
        with open(scratch / "petition_pairs.csv", encoding="utf-8", newline="") as file:
            groups = joined((int(pair["id1"]), int(pair["id2"])) for pair in csv.DictReader(file) if pair["matter"] == "same")
        with open(scratch / name, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield groups.get(int(row["id"]), int(row["id"])), row

    part = path.with_suffix(".part")
    with open(part, "w", encoding="utf-8", newline="") as file, open(path.with_suffix(".labels"), "w", encoding="ascii") as labels:
        writer = csv.writer(file)
        writer.writerow(["id", *columns])
        for number, (group, row) in enumerate(made(), 1):
            writer.writerow([number, *(row[column] for column in columns)])
            labels.write(f"{int(group)}\n")
    part.rename(path)
    shutil.rmtree(scratch, ignore_errors=True)


def letters(rows):
    """Letters of one template, each about an estate of its own, signed by whoever; one in six comes a second time with two slips and another name."""
    rng, numbers = random.Random(7), {}

    def name(parts):
        return "".join(rng.choice(parts) for _ in range(3)).capitalize()

    number = 0
    while number < rows:
        estate = f"{name(['ka', 'mel', 'tor', 'win', 'das', 'lo', 'ber', 'hun', 'ri', 'stel', 'mo', 'van'])} {rng.choice(['Court', 'Gardens', 'House', 'Park'])} {rng.randrange(1, 400)}"
        for copy in range(1 + (rng.randrange(6) == 0)):
            signed = f"{name(['an', 'be', 'cor', 'di', 'el', 'fa'])} {name(['gor', 'hal', 'is', 'jo', 'ker', 'lan'])}"
            words = LETTER.format(estate=estate, signed=signed).split()
            for _ in range(2 * copy):
                at = rng.randrange(30, len(words) - 25)
                words[at] = words[at][::-1] if rng.random() < 0.5 else ""
            yield numbers.setdefault(estate, len(numbers)), {"body": " ".join(filter(None, words))}
            number += 1
            if number == rows:
                return


def processes(of):
    """A process and what it began."""
    found, level = [], [of]
    while level:
        found += level
        above = []
        for pid in level:
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                        above += map(int, file.read().split())
            except OSError:
                pass
        level = above
    return found


def memory(pids):
    """Megabytes in memory, a page that several processes share once."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


def spent(pid):
    """Seconds of the processor that a process has taken, all of its threads."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers(backend):
    """A server's process and the parallel workers that it has."""
    try:
        with open(f"/proc/{backend}/stat", encoding="ascii") as file:
            postmaster = int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return []
    found = [backend]
    for pid in processes(postmaster)[1:]:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if f"parallel worker for PID {backend}".encode() in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def measure(peer, table, rows, arguments):
    """Runs a peer, watches it, scores what it found."""
    result = {"peer": peer, "table": table, "rows": rows, "date": datetime.datetime.now().isoformat(timespec="minutes"), "load": round(os.getloadavg()[0], 1)}
    command = [sys.executable, __file__, "--peer", peer, "--table", table, "--rows", str(rows), "--out", str(arguments.out), "--limit", str(arguments.limit)]
    name = f"{peer}-{table}-{rows}".replace(" ", "-")
    groups, path = arguments.out / f"{name}.groups", arguments.out / f"{name}.log"
    command += ["--groups", str(groups)]
    log = open(path, "wb")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    os.set_blocking(process.stdout.fileno(), False)
    begun, peak, backends, client, rest = None, 0.0, [], True, b""
    processor, fresh = {}, True
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6 / 2
    while True:
        ended = process.poll() is not None
        *lines, rest = (rest + (process.stdout.read() or b"")).split(b"\n")
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                continue  # what a library prints
            if not isinstance(said, dict):
                continue
            if "begin" in said:
                begun = time.monotonic()
            elif "backend" in said:
                # Of a peer that works in the server alone the client that reads the result does not count.
                backends, client = backends + [said["backend"]], "also" in said
            elif "version" in said and "of" in said:
                result["server"] = f"{said['of']} {said['version']}"
            else:
                result.update({key: value for key, value in said.items() if value is not None})
        if begun:
            watched = {pid for backend in backends for pid in workers(backend)}
            watched |= set(processes(process.pid) if client else ())
            peak = max(peak, memory(watched))
            for pid in watched:
                if (now := spent(pid)) is not None:
                    first, _ = processor.get(pid, (now if fresh else 0, now))
                    processor[pid] = first, now
            fresh = False
        if ended:
            break
        over = begun and time.monotonic() - begun > arguments.limit + 2
        if over or peak > most:
            result["stopped"] = f"> {arguments.limit} s" if over else f"> {most / 1000:.0f} GB"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            break
        time.sleep(0.1)
    log.close()
    result["mb"] = round(peak)
    # Beside other work the processor's seconds tell more than the clock's.
    result["processor"] = round(sum(last - first for first, last in processor.values()), 1)
    if process.returncode and "stopped" not in result:
        with open(path, encoding="utf-8", errors="replace") as file:
            last = [line.strip() for line in file if line.strip()][-1:]
        result["stopped"] = f"> {arguments.limit} s" if "statement timeout" in "".join(last) else "failed"
        result["error"] = "".join(last)[:300]
    if "stopped" not in result:
        result["seconds"] = round(result["seconds"], 2)
        with open(groups, "rb") as file:
            result.update(score(pickle.load(file), arguments.out / "data" / f"{table}-{rows}.labels"))
        groups.unlink()
    if result.get("stopped") != "failed":
        path.unlink()
    return result


def score(groups, path):
    """Pairs of rows that share a group, of two tables those across, counted without being written down; a row in none is alone.
    Lost are labels of which no row is the first of a group."""
    found, true, both, kept = {}, {}, {}, set()
    beside = path.with_suffix(".split")
    split = int(beside.read_text()) if beside.exists() else None
    with open(path, encoding="ascii") as file:
        for id, label in enumerate(file, 1):
            group = groups.get(id, ("alone", id))
            if group not in found:
                kept.add(label)
            for counts, key in ((found, group), (true, label), (both, (group, label))):
                counts.setdefault(key, [0, 0])[bool(split and id > split)] += 1
    pairs, truth, right = (sum(a * b if split else a * (a - 1) // 2 for a, b in counts.values()) for counts in (found, true, both))
    return {"precision": round(right / pairs, 4) if pairs else None, "recall": round(right / truth, 4) if truth else None, "pairs": pairs, "truth": truth,
            "lost": round(1 - len(kept) / len(true), 5)}


def page(results):
    """All of it as one table."""
    latest = {(result["peer"], result["table"], result["rows"]): result for result in results}
    lines = ["| | rows | " + " | ".join(TABLES) + " |", "|---|---|" + "---|" * len(TABLES)]
    for peer in PEERS:
        for rows in sorted({rows for _, _, rows in latest}):
            of = [latest.get((peer, table, rows)) for table in TABLES]
            if not any(of):
                continue
            version = next((f" {result['version']}" for result in of if result and "version" in result), "")
            name, _, threshold = peer.partition(" ")
            cells = [cell(result) if result else ("–" if table not in PEERS[peer][1] else "not run") for table, result in zip(TABLES, of)]
            lines.append(f"| {name}{version}{threshold and ', threshold ' + threshold} | {rows:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def figure(value):
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def cell(result):
    if "stopped" in result:
        busy = f" ({figure(result['processor'])})" if "processor" in result and result["stopped"].startswith(">") else ""
        return result["stopped"] + busy
    shares = " / ".join("–" if result[key] is None else f"{result[key]:.3f}" for key in ("precision", "recall"))
    return f"{figure(result['seconds'])} s ({figure(result['processor'])}), {result['mb']:,} MB, {shares}"


def draw(results, path):
    """Seconds of the processor, which other work does not lengthen much, and memory by rows: all peers of a table in one picture."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "peers", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullLocator

    figure, axes = pyplot.subplots(2, len(TABLES), figsize=(14, 6.4), sharex=True, sharey="row", layout="constrained")
    colours = dict(zip(PEERS, ["#d62728", "#b58900", "#1f77b4", "#7d3c98", "#1e8449", "#17becf", "#0e7c86", "#bbbbbb", "#666666", "#e377c2", "#8c564b", "#222222"]))
    for column, table in enumerate(TABLES):
        for row, (key, unit) in enumerate((("processor", "seconds of the processor"), ("mb", "MB, peak"))):
            panel = axes[row][column]
            for peer in PEERS:
                points = sorted({result["rows"]: result[key] for result in results
                                 if (result["peer"], result["table"]) == (peer, table) and "stopped" not in result}.items())
                if points:
                    panel.plot(*zip(*points), marker="o", markersize=3.5, linewidth=2.2 if peer == "pg_dedup" else 1.1, color=colours[peer], label=peer)
            panel.set(xscale="log", yscale="log")
            panel.grid(True, which="major", linewidth=0.3)
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_minor_locator(NullLocator())
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            if row == 0:
                panel.set_title(table)
            else:
                panel.set_xlabel("rows")
            if column == 0:
                panel.set_ylabel(unit)
    shown = {label: line for panel in axes.flat for line, label in zip(*panel.get_legend_handles_labels())}
    figure.legend([shown[peer] for peer in PEERS if peer in shown], [peer for peer in PEERS if peer in shown], loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    # Half of the file is spaces, notes and digits that nobody sees.
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\d+\.\d+(?!\w)", lambda number: f"{float(number[0]):.1f}", text)
    path.write_text(re.sub(r"\s*\n\s*", "\n", text), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--peer")
    parser.add_argument("--table")
    parser.add_argument("--groups", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.peer:
        return work(arguments)
    tables, peers = arguments.tables.split(","), arguments.only.split(",")
    for name, known in [(table, TABLES) for table in tables] + [(peer, PEERS) for peer in peers]:
        if name not in known:
            parser.error(f"{name} is none of {', '.join(known)}")
    path = arguments.out / "peers.jsonl"
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    for rows in map(int, arguments.rows.split(",")):
        for table in tables:
            make(table, rows, arguments.out, arguments.programs, arguments.out / "data")
            for peer in peers:
                done = any((result["peer"], result["table"], result["rows"]) == (peer, table, rows) for result in results)
                if table not in PEERS[peer][1] or (done and not arguments.again):
                    continue
                over = [result for result in results if (result["peer"], result["table"]) == (peer, table) and result["rows"] < rows
                        and result.get("stopped", "").startswith(">")]
                if over:
                    # What did not end in time does not with more rows.
                    result = {"peer": peer, "table": table, "rows": rows, "stopped": over[0]["stopped"].split(" at ")[0] + f" at {over[0]['rows']:,}"}
                    result.update({key: over[0][key] for key in ("version", "date", "load") if key in over[0]})
                else:
                    result = measure(peer, table, rows, arguments)
                print(f"    {rows} rows of {table}: {peer}: {cell(result)}", *filter(None, (result.get("error"), result.get("note"))), flush=True)
                results.append(result)
                with open(path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(result, ensure_ascii=False) + "\n")
    (arguments.out / "peers.md").write_text(page(results), encoding="utf-8")
    if results:
        draw(results, arguments.out / "peers.svg")


if __name__ == "__main__":
    main()
