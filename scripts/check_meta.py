#!/usr/bin/env python3
"""Checks META.json.in by the rules of the PGXN Meta Spec 1.0.0 (https://pgxn.org/spec/) that bind this project."""
import json
import os
import re
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
version = re.search(r'^version = "(.*)"', open(f"{root}/Cargo.toml", encoding="utf-8").read(), re.M)[1]
meta = json.loads(open(f"{root}/META.json.in", encoding="utf-8").read().replace("@VERSION@", version))

SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[a-zA-Z][-0-9a-zA-Z]*)?"
TERM = r"[^\s/\\\x00-\x1f\x7f]{2,}"
KNOWN = {"name", "version", "abstract", "description", "maintainer", "license", "provides", "prereqs", "tags", "resources",
         "release_status", "generated_by", "no_index", "meta-spec"}
wrong = []


def demand(right, what):
    if not right:
        wrong.append(what)


def text(value):
    return isinstance(value, str) and value != ""


demand(re.fullmatch(TERM, meta.get("name", "")), "name is no term")
demand(re.fullmatch(SEMVER, meta.get("version", "")), "version is no semantic version")
for key in ("abstract", "description", "maintainer", "license", "generated_by"):
    demand(text(meta.get(key)), f"{key} is missing")
demand(meta.get("license") == "postgresql", "license is not that of LICENSE")
demand(re.fullmatch(SEMVER, meta.get("meta-spec", {}).get("version", "")), "meta-spec has no version")
demand(meta.get("release_status") in ("stable", "testing", "unstable"), "release_status is none")
for key in set(meta) - KNOWN:
    demand(re.match("x_", key, re.I), f"{key} is no key of the specification")
tags = meta.get("tags", [])
demand(all(text(tag) and len(tag) < 256 and not re.search(r"[/\\\x00-\x1f]", tag) for tag in tags) and len(set(tags)) == len(tags), "tags")
demand(meta.get("provides"), "provides is missing")
for name, extension in meta.get("provides", {}).items():
    demand(re.fullmatch(TERM, name), f"{name} is no term")
    demand(extension.get("version") == version, f"{name} has another version")
    demand(text(extension.get("abstract")), f"{name} has no abstract")
    for key in ("file", "docfile"):
        demand(os.path.isfile(f"{root}/{extension.get(key)}"), f"{name}: no file {extension.get(key)}")
for phase, relations in meta.get("prereqs", {}).items():
    demand(phase in ("configure", "build", "test", "runtime", "develop"), f"prereqs: no phase {phase}")
    for relation, packages in relations.items():
        demand(relation in ("requires", "recommends", "suggests", "conflicts"), f"prereqs: no relation {relation}")
        demand(all(re.fullmatch(rf"(0|([<>=!]+ *)?{SEMVER}(, *[<>=!]+ *{SEMVER})*)", str(v)) for v in packages.values()), "prereqs: versions")
for each in wrong:
    print(f"META.json.in: {each}", file=sys.stderr)
sys.exit(len(wrong) > 0)
