"""Makes a directory for bench/quality/run of one of the Magellan sets as github.com/megagonlabs/ditto has them.

    python3 bench/quality/magellan.py ditto/data/er_magellan/Structured/DBLP-ACM DIRECTORY

Records are those that train, valid and test pair, whichever of these files there are.
"""

import csv
import os
import re
import sys

# A label, not a column: restaurants with the same one are the same.
LABELS = {"class"}


def record(text):
    fields = (field.partition(" VAL ") for field in re.split(r"(?:^| )COL ", text)[1:])
    return tuple((name, value.strip()) for name, _, value in fields if name not in LABELS)


def write(directory, name, header, rows):
    with open(os.path.join(directory, name), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def main(source, directory):
    sides, same = ({}, {}), []
    for name in ("train.txt", "valid.txt", "test.txt"):
        if not os.path.exists(os.path.join(source, name)):
            print(f"no {name}")
            continue
        with open(os.path.join(source, name), encoding="utf-8") as file:
            for line in file:
                *pair, label = line.rstrip("\n").split("\t")
                a, b = (side.setdefault(record(text), f"{of}{len(side)}") for of, side, text in zip("ab", sides, pair))
                if label == "1":
                    same.append((a, b))
    rows = [(key, of, values) for of, side in zip("ab", sides) for values, key in side.items()]
    os.makedirs(directory, exist_ok=True)
    names = [name for name, _ in rows[0][2]]
    write(directory, "petitions.csv", ["id", "source", "body"], ((k, of, " ".join(v for _, v in values if v)) for k, of, values in rows))
    write(directory, "columns.csv", ["id", *names], ((key, *(dict(values).get(name) for name in names)) for key, _, values in rows))
    write(directory, "petition_pairs.csv", ["id1", "id2"], dict.fromkeys(same))
    print(f"{len(rows)} records, {len(set(same))} pairs")


main(*sys.argv[1:])
