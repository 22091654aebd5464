#!/usr/bin/env python3
"""Checks who uses whom: rooms only those on floors below them, and no file itself in a circle.

A room is a folder or a file right below core/src, papers/src and src. Who uses whom is read from `use` lines and paths.
ARCHITECTURE.md holds the table that this prints, between two markers; --write renews it. Lines are in hundreds, so that few
commits change it.
"""

import re
import sys
from pathlib import Path

# From the bottom up. A room may use those on floors below its own; those of src also the crates core and papers.
FLOORS = {
    "core": ["external hash interrupt memory random", "text", "fingerprint", "features", "banding similarity",
             "groups words", "records", "details", "dedup", "evaluate", "report"],
    "src": ["pg", "banding corpus", "fingerprint", "table", "papers similarity", "dedup groups",
            "evaluate guard report setup"],
}
ROOT = Path(__file__).resolve().parent.parent
CRATES = {"core": ROOT / "core/src", "papers": ROOT / "papers/src", "src": ROOT / "src"}
NAMES = {"dedup_core": "core", "dedup_detectors": "papers"}
START, END = "<!-- rooms: scripts/lint rooms --write -->\n", "<!-- end of rooms -->\n"


class Module:
    def __init__(self, crate, path):
        text = path.read_text()
        # Without the tests at its end, comments and strings.
        code = re.split(r"#\[cfg\(test\)\]\n(?:pub )?mod ", text)[0]
        code = re.sub(r'//[^\n]*|r#".*?"#|"(?:\\.|[^"\\])*"', "", code, flags=re.S)
        parts = path.relative_to(CRATES[crate]).with_suffix("").parts
        self.file, self.lines = str(path.relative_to(ROOT)), len(text.splitlines())
        self.path = (crate,) + tuple(part for part in parts if part not in ("mod", "lib"))
        self.room = self.path[:2]
        use = r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);"
        own = re.sub(use, "", code)
        self.uses = [path.split("::") for path in re.findall(r"(?<![\w:])(?:\w+::)+\w+", own)]
        self.known = {}
        for handed_on, tree in re.findall(use, code):
            while "{" in tree:
                tree = re.sub(r"([\w:]*)\{([^{}]*)\}", lambda m: ",".join(m[1] + each.strip() for each in m[2].split(",")), tree)
            for path in tree.split(","):
                path, _, name = path.strip().removesuffix("::self").partition(" as ")
                path = path.split("::")
                name = name or path[-1]
                self.known[name] = path
                if not handed_on or re.search(rf"\b{re.escape(name)}\b", own):
                    self.uses.append(path)


def resolve(modules, at, path, depth=0):
    """The module in which a path ends that is written in module `at`; None outside of the project."""
    here, rest = at.path, list(path)
    if rest[0] in NAMES:
        here = (NAMES[rest.pop(0)],)
    elif rest[0] == "crate":
        here, rest = here[:1], rest[1:]
    elif rest[0] not in ("super", "self") and here + (rest[0],) not in modules:
        return None
    while rest and (rest[0] in ("super", "self") or here + (rest[0],) in modules):
        step = rest.pop(0)
        here = here[:-1] if step == "super" else here if step == "self" else here + (step,)
    module = modules.get(here)
    # What the module has from elsewhere is used from there.
    if module and module is not at and rest and rest[0] in module.known and depth < 9:
        return resolve(modules, module, module.known[rest[0]], depth + 1) or module
    return module


def reached(arrows, start):
    seen, todo = set(), [start]
    while todo:
        new = arrows[todo.pop()] - seen
        seen |= new
        todo.extend(new)
    return seen


def main():
    files = [(crate, path) for crate, folder in CRATES.items() for path in sorted(folder.rglob("*.rs"))]
    modules = {m.path: m for m in (Module(crate, path) for crate, path in files if not path.stem.endswith("tests"))}
    arrows = {one: {resolve(modules, one, path) for path in one.uses} - {None, one} for one in modules.values()}
    uses, lines, faults = {}, {}, set()
    for one, others in arrows.items():
        lines[one.room] = lines.get(one.room, 0) + one.lines
        uses.setdefault(one.room, set()).update({other.room for other in others} - {one.room})
    floor = {(crate, room): at for crate, floors in FLOORS.items() for at, rooms in enumerate(floors) for room in rooms.split()}
    base = {("core", room) for room in FLOORS["core"][0].split()}
    for room in sorted(room for room in uses if len(room) == 2 and room[0] in FLOORS):
        if room not in floor:
            faults.add(f"{room[0]}/{room[1]} has no floor in scripts/rooms.py")
        for other in uses[room]:
            upwards = room[0] == other[0] and len(other) == 2 and floor.get(room, 0) <= floor.get(other, 0)
            if upwards and not {room, other} <= base:
                faults.add(f"{room[0]}/{room[1]} uses {other[1]}, which is not below it")
    reach = {one: reached(arrows, one) for one in arrows}
    for one in arrows:
        circle = {other for other in reach[one] if one in reach[other]}
        if circle:
            faults.add("in a circle: " + ", ".join(sorted(each.file for each in circle)))
    table = f"| crate | room | lines | uses |\n|---|---|---|---|\n| core | {FLOORS['core'][0].replace(' ', ', ')} | "
    table += f"{sum(lines.get(room, 0) for room in base) / 1000:.1f}k | used by all |\n"
    shown = [room for room in lines if room in floor and room[0] != "papers" and room not in base]
    for room in sorted(shown, key=lambda room: (room[0], floor[room], room)):
        others = sorted({other if other[0] != "papers" else ("papers",) for other in uses[room]} - base)
        named = ", ".join("/".join(other[other[0] == room[0]:]) for other in others if other[1:] or other[0] == "papers")
        table += f"| {room[0]} | {room[1]} | {lines[room] / 1000:.1f}k | {named} |\n"
    page = ROOT / "ARCHITECTURE.md"
    before, _, rest = page.read_text().partition(START)
    shown, _, after = rest.partition(END)
    if "--write" in sys.argv:
        page.write_text(before + START + table + END + after)
    elif shown != table:
        faults.add("ARCHITECTURE.md does not show the rooms as they are: scripts/lint rooms --write")
    print("".join(fault + "\n" for fault in sorted(faults)), end="")
    sys.exit(bool(faults))


main()
