#!/usr/bin/env python3
"""Runs the test bed and compares Faultline's findings with the planted changes.

Usage: check.py FAULTLINE DIRECTORY [--commits N] [--noise PERCENT] [--seed N]

1. `history run` measures each commit, also in random layouts: the first part with the old compiler,
   the rest with the new one.
2. `history show`: each planted change must be a step at its commit or with it in its range. Layout
   steps must be labelled as such; the compiler's step as a quirk, mostly or wholly; code steps as
   code or inconclusive. No other step may be reported.
3. `bisect --layouts` over all commits with the new compiler: each step must be named exactly and be
   confirmed, with the right label or inconclusive.

Prints a table of each. Exits with 1 if a planted change is missed or another commit is blamed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import make


INCONCLUSIVE = "inconclusive"

# Permitted labels of each kind of step, by quirks and by layouts.
RIGHT = {
    "code": (("–",), ("code", INCONCLUSIVE)),
    "layout": (("–",), ("layout",)),
    "toolchain": (("quirk", "mostly-quirk"), ("–",)),
}


class Bed:
    """The repository with its database."""

    def __init__(self, asked):
        self.faultline, self.directory = str(asked.faultline.resolve()), asked.directory.resolve()
        self.noise, self.seed = asked.noise, asked.seed
        if self.directory.exists():
            sys.exit(f"{self.directory} exists already; hint: remove it, or name another directory")
        make.make(self.directory, asked.commits, asked.seed)
        (self.directory / "database").mkdir()
        planted = json.loads((self.directory / "planted.json").read_text())
        self.commits = planted.pop("commits")
        self.number = {name: at for at, name in enumerate(self.commits)}
        self.planted = {
            kind: {self.number[name]: places[name] for name in places} if isinstance(places, dict) else sorted(map(self.number.get, places))
            for kind, places in planted.items()
        }

    def call(self, *arguments):
        """The JSON that a command prints."""
        # The sandbox hides its directory.
        database = ("--db", str(self.directory / "database" / "bed.sqlite"))
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.directory / "cache"), FAULTLINE_TRUST="1")
        command = [self.faultline, *arguments]
        at = command.index("--") if "--" in command else len(command)
        command[at:at] = [*database, "--format", "json"]
        done = subprocess.run(command, cwd=self.directory, env=environment, stdout=subprocess.PIPE, text=True, timeout=3600)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: status {done.returncode}")
        return json.loads(done.stdout)

    def measure(self, branch, compiler):
        (self.directory / "tools" / "version").write_text(f"{compiler}\n")
        make.declare(self.directory, branch, self.noise, self.seed)
        self.call("history", "run", "--quiet")


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def percent(part):
    return "–" if part is None else f"{100 * part:+.1f} %"


def table_of(title, *headings):
    print(f"\n{title}\n")
    row(*headings)
    row(*["---"] * len(headings))


def history(bed):
    """Returns the errors."""
    bed.measure("old-compiler", 1)
    bed.measure("main", 2)
    [series] = bed.call("history", "show")
    wrong = []
    unmeasured = [at for at, point in enumerate(series["points"]) if point["result"] != "measured"]
    if unmeasured != sorted(bed.planted["broken"] + bed.planted["hanging"]):
        wrong.append(f"not measured are {unmeasured}")
    steps = list(series["steps"]["steps"])
    table_of("`history show`: planted, and the step that is found", "commit", "planted", "found", "between", "by quirks", "by layouts")
    expected = [(at, kind, part) for kind in ("code", "layout", "toolchain") for at, part in bed.planted[kind].items()]
    for at, kind, part in sorted(expected):
        step = next((step for step in steps if step["earliest"] < at <= step["latest"]), None)
        if step is None:
            row(at, f"{kind} {percent(part)}", "nothing", "–", "–", "–")
            wrong.append(f"the step of the {kind} at {at} is not found")
            continue
        steps.remove(step)
        by_quirk, by_layouts = ((step.get(of) or {}).get("label", "–") for of in ("cause", "layouts"))
        change = percent(step["to"] / step["from"] - 1)
        row(at, f"{kind} {percent(part)}", change, f"{step['earliest']} … {step['latest']}", by_quirk, by_layouts)
        # No run measured both sides of the compiler's step in one environment, so layouts do not
        # apply.
        quirks, layouts = RIGHT[kind]
        if by_quirk not in quirks or by_layouts not in layouts:
            wrong.append(f"the step of the {kind} at {at} is labelled {by_quirk} by quirks, {by_layouts} by layouts")
    wrong += [f"a step at {step['by']} that is not planted" for step in steps]
    return wrong


def search(bed):
    """Returns the errors."""
    first, last = bed.commits[0], bed.commits[-1]
    compiler = bed.directory / "tools" / "cc"
    found = bed.call(
        "bisect", first, last, "--repository", "repository", "--work", "search", "--build", f"make CC={compiler}", "--clean",
        "--limit", "3s", "--layouts", "12", "--seed", str(bed.seed), "--quiet", "--", "./prog", str(bed.noise),
    )
    named = {}
    for step, commits in zip(found["steps"], found["commits"], strict=True):
        candidates = tuple(bed.number[commit["id"]] for commit in commits["candidates"])
        named[candidates] = step
    table_of("`bisect --layouts 12` over all commits: planted, and what is named", "commit", "planted", "found", "confirmed", "label")
    wrong = []
    for at, kind, part in sorted((at, kind, part) for kind in ("code", "layout") for at, part in bed.planted[kind].items()):
        step = named.pop((at,), None)
        if step is None:
            row(at, f"{kind} {percent(part)}", "not named", "–", "–")
            wrong.append(f"the {kind} at {at} is not named")
            continue
        row(at, f"{kind} {percent(part)}", percent(step["change"]["ratio"] - 1), step["confirmed"], step["label"])
        if step["label"] not in (kind, INCONCLUSIVE) or not step["confirmed"]:
            wrong.append(f"the {kind} at {at} is labelled {step['label']}, confirmed: {step['confirmed']}")
    wrong += [f"{candidates} is named, and is not planted" for candidates in named]
    print(f"\n{found['trials']} of {len(bed.commits)} commits were tried, {found['executions']} executions")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faultline", type=Path, metavar="FAULTLINE")
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help="made; must not exist")
    parser.add_argument("--commits", type=int, default=200, metavar="N")
    parser.add_argument("--noise", type=float, default=2, metavar="PERCENT")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", choices=("history", "bisect"))
    asked = parser.parse_args()
    bed = Bed(asked)
    print(f"{asked.commits} commits, noise {asked.noise} % of each execution, seed {asked.seed}")
    wrong = [] if asked.only == "bisect" else history(bed)
    (bed.directory / "tools" / "version").write_text("2\n")
    wrong += [] if asked.only == "history" else search(bed)
    sys.exit("\n".join(["", *wrong]) if wrong else 0)


if __name__ == "__main__":
    main()
