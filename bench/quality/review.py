"""How far the answers of a simulated reviewer take the settings of a table, on labelled sets whose other half judges.

    python3 bench/quality/review.py [--seeds 10] [--wrong 0.05] DIRECTORY…

Directories are those of bench/quality/run (sets.py and magellan.py make some); one with columns.csv is of records, and all rows of a set
are in one table, whatever their source. Half of the things with their rows get settings. Then dedup_review asks, the labels answer, some answers wrong,
and dedup_setup refits. What comes of it is applied to the rows of the other half, about which nobody was asked: F1 of pairs that share a
keeper, beside that of the limit which is best by all labels of the half that was reviewed (all), and of the one which is best there
(best). Median of the seeds, each with halves of its own. Connects as psql does.
"""

import argparse
import csv
import json
import math
import os
import random
import sys
from collections import defaultdict
from itertools import combinations
from statistics import median

import psycopg

csv.field_size_limit(sys.maxsize)
# Answers after which the limits are chosen anew.
ANSWERS = (10, 25, 50)
# Limits that are tried: probabilities by their odds, and shares, also without details and of the widest candidates.
LIKELY = [{"similarity": 1 / (1 + math.exp(-odds))} for odds in range(-6, 11)]
SIMILAR = [{"similarity": part / 20, **more} for part in range(2, 13) for more in ({}, {"details": []}, {"distance": 24})]


def table(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pairs(rows, group):
    """Pairs of rows of one group."""
    of = defaultdict(list)
    for row in rows:
        of[group[row]].append(row)
    return {pair for rows in of.values() for pair in combinations(rows, 2)}


class Set:
    def __init__(self, directory):
        self.by_records = os.path.exists(os.path.join(directory, "columns.csv"))
        rows = table(directory, "columns.csv" if self.by_records else "petitions.csv")
        at = {row.pop("id"): number for number, row in enumerate(rows)}
        self.names = list(rows[0]) if self.by_records else ["body"]
        self.rows = [[row[name] or None for name in self.names] for row in rows]
        self.thing, self.unsure = list(range(len(rows))), set()
        for row in table(directory, "petition_pairs.csv"):
            a, b = sorted((at[row["id1"]], at[row["id2"]]))
            matter = row.get("matter") or "same"
            if matter == "unsure":
                self.unsure.add((a, b))
            elif matter == "same":
                self.thing[self.find(a)] = self.find(b)
        self.thing = [self.find(row) for row in range(len(rows))]

    def find(self, row):
        while self.thing[row] != row:
            self.thing[row] = row = self.thing[self.thing[row]]
        return row

    def halves(self, seed):
        things = sorted(set(self.thing))
        random.Random(seed).shuffle(things)
        first = set(things[::2])
        return [[row for row, thing in enumerate(self.thing) if (thing in first) == half] for half in (True, False)]


class Review:
    def __init__(self, db, of, seed, wrong):
        self.db, self.of, self.random, self.wrong = db, of, random.Random(seed), wrong
        self.reviewed, self.judges = of.halves(seed)
        columns = ", ".join(f'"{name}" text' for name in of.names)
        db.execute(f"DROP TABLE IF EXISTS t, t_decisions; CREATE TABLE t (id int PRIMARY KEY, {columns})")
        self.fill(self.reviewed)
        self.setup({"columns": of.names, "decisions": True, **({"method": "records"} if of.by_records else {})})

    def fill(self, rows):
        with self.db.cursor().copy("COPY t FROM STDIN") as copy:
            for row in rows:
                copy.write_row((row, *self.of.rows[row]))
        self.db.execute("ANALYZE t")

    def setup(self, options):
        self.db.execute("SELECT dedup_setup('t', %s)", [json.dumps(options)])

    def answer(self, count):
        """Pairs that nobody could judge are skipped."""
        asked = self.db.execute("SELECT least(a, b), greatest(a, b) FROM dedup_review('t', %s)", [count + len(self.of.unsure)])
        asked = [pair for pair in asked.fetchall() if pair not in self.of.unsure][:count]
        answers = [(a, b, (self.of.thing[a] == self.of.thing[b]) != (self.random.random() < self.wrong)) for a, b in asked]
        with self.db.cursor() as cursor:
            cursor.executemany("INSERT INTO t_decisions (a, b, same) VALUES (%s, %s, %s)", answers)

    def tried(self, rows, limits):
        """F1 on these rows with the settings as they are and with each of these limits."""
        with self.db.transaction(force_rollback=True):
            self.db.execute("TRUNCATE t")
            self.fill(rows)
            return [(self.f1(rows, json.dumps(limit)), json.dumps(limit)) for limit in ({}, *limits)]

    def f1(self, rows, options):
        group = dict(self.db.execute("SELECT id, keeper FROM dedup('t', %s)", [options]).fetchall())
        found, true = (pairs(rows, of) - self.of.unsure for of in (group, self.of.thing))
        return 2 * len(found & true) / max(len(found) + len(true), 1)

    def run(self):
        """F1 at the start and after so many answers, that of the limit which is best by all labels of the reviewed half, and the best one."""
        limits = LIKELY if self.of.by_records else SIMILAR
        here, there = self.tried(self.reviewed, limits), self.tried(self.judges, limits)
        reached = [there[0][0]]
        for before, count in zip((0, *ANSWERS), ANSWERS):
            self.answer(count - before)
            self.setup({"refit": True})
            reached.append(self.tried(self.judges, [])[0][0])
        return [*reached, there[here.index(max(here, key=lambda it: it[0]))][0], max(*there, (max(reached), "as chosen"))[0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--wrong", type=float, default=0.05)
    parser.add_argument("directory", nargs="+")
    asked = parser.parse_args()
    with psycopg.connect(dbname="postgres", autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS review")
        db.execute("CREATE DATABASE review")
    db = psycopg.connect(dbname="review", autocommit=True)
    db.execute("CREATE EXTENSION pg_dedup; SET client_min_messages = error")
    print(f"| set | rows | pairs | {' | '.join(map(str, (0, *ANSWERS)))} | all | best | short of all, best |\n|{'---|' * (len(ANSWERS) + 7)}")
    for directory in asked.directory:
        if not os.path.exists(os.path.join(directory, "petition_pairs.csv")):
            print(f"| {directory}: not there | | | | | | | | | |")
            continue
        of, runs = Set(directory), []
        for seed in range(1, asked.seeds + 1):
            runs.append(Review(db, of, seed, asked.wrong).run())
            print(directory, seed, *(f"{f1:.3f}" for f1 in runs[-1]), file=sys.stderr, flush=True)
        short = (median(run[at] - run[len(ANSWERS)] for run in runs) for at in (-2, -1))
        cells = [len(of.rows), len(pairs(range(len(of.rows)), of.thing) - of.unsure), *(f"{median(column):.3f}" for column in zip(*runs))]
        print("| " + " | ".join(map(str, [os.path.basename(directory), *cells, ", ".join(f"{by:.3f}" for by in short)])), "|", flush=True)


main()
