"""The page of records: pg_dedup in one call beside GoldenMatch and Splink, as bench/compare/peers.py asks them. Called by bench/quality/run --records.

    python3 bench/quality/records.py --out DIRECTORY [--people N] [--limit SECONDS] [--again] [DIRECTORY…]

People in families are made; directories are those of sets.py and magellan.py (columns.csv, petition_pairs.csv, the sources in petitions.csv). What has two
sources is given as two tables. Connects as psql does, in a database of its own.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compare"))
import people
import peers

csv.field_size_limit(sys.maxsize)
ASKED = {"pg_dedup": "pg_dedup", "pg_dedup 0.5": "pg_dedup, from 0.5 on", "GoldenMatch": "GoldenMatch", "Splink": "Splink"}


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def labelled(directory):
    """Columns, (label, row) of each, and how many rows are the first source's."""
    rows, pairs = table(directory / "columns.csv"), table(directory / "petition_pairs.csv")
    side = {row["id"]: row["source"] for row in table(directory / "petitions.csv")}
    group = peers.joined((pair["id1"], pair["id2"]) for pair in pairs if (pair.get("matter") or "same") == "same")
    rows.sort(key=lambda row: side[row["id"]])
    numbers = {}
    labels = [numbers.setdefault(group.get(row["id"], row["id"]), len(numbers)) for row in rows]
    first = sum(side[row["id"]] == side[rows[0]["id"]] for row in rows)
    return list(rows[0])[1:], list(zip(labels, rows)), first if first < len(rows) else None


def write(folder, name, columns, rows, split):
    """As peers.py reads it; names of columns as all tools can, of which none is a word of SQL."""
    names = [re.sub(r"\W+", "_", column.lower()) for column in columns]
    path = folder / f"{name}-{len(rows)}.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(name + "_" * (len(name) < 3) for name in names)])
        writer.writerows([number, *(row[column] for column in columns)] for number, (_, row) in enumerate(rows, 1))
    path.with_suffix(".labels").write_text("".join(f"{label}\n" for label, _ in rows), encoding="ascii")
    if split:
        path.with_suffix(".split").write_text(str(split), encoding="ascii")


def cell(result):
    if result is None:
        return ""
    if "stopped" in result:
        return peers.cell(result)
    precision, recall = result["precision"], result["recall"]
    f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0
    shares = " / ".join("–" if share is None else f"{share:.3f}" for share in (precision, recall))
    return f"{shares}, **{f1:.3f}**; {result['lost']:.2%}; {peers.figure(result['seconds'])} s ({peers.figure(result['processor'])})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("directories", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.out / "data"
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: (people.COLUMNS, people.people(arguments.people, seed, share), None) for name, seed, share in
            (("people", 1, 0.16), ("people, a fifth twice", 2, 0.2), ("people, one in twenty twice", 3, 0.05), ("people, none twice", 4, 0))}
    path = arguments.out / "records.jsonl"
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    lines = [f"| | rows | {' | '.join(ASKED.values())} |", "|---|---|" + "---|" * len(ASKED)]
    sets = made | {directory.name: labelled(directory) for directory in arguments.directories}
    for name, (columns, rows, split) in sorted(sets.items(), key=lambda of: len(of[1][1])):
        key = re.sub(r"\W+", "_", name).lower()
        write(folder, key, columns, rows, split)
        cells = []
        for peer in ASKED:
            of = [result for result in results if (result["peer"], result["table"], result["rows"]) == (peer, key, len(rows))]
            if split and peer == "pg_dedup 0.5":
                of = [None]
            elif arguments.again or not of:
                of = [peers.measure(peer, key, len(rows), arguments)]
                with open(path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(of[0], ensure_ascii=False) + "\n")
                print(f"    {name}: {peer}: {cell(of[0])}", *filter(None, (of[0].get("error"), of[0].get("note"))), flush=True)
            cells.append(cell(of[-1]))
        lines.append(f"| {name}{', two tables' if split else ''} | {len(rows):,} | {' | '.join(cells)} |")
    (arguments.out / "records.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


main()
