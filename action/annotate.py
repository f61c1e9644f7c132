#!/usr/bin/env python3
"""Annotates the source lines behind counts that changed, in a job of GitHub: a warning for each in
programs that are worse, a notice for others. Reads the `lines` of FAULTLINE_CI_REPORT/ci.json
(docs/CI.md), whose names come from the authors of the measured commits."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # `python3 -I` leaves it out.

from gate import for_command, one_line, parts, read

# GitHub shows no more of a step for each kind.
MOST = 10
LONGEST = 200
KINDS = {"worse": "warning", "better": "notice"}


def for_property(text):
    """A value of a property of a runner's command."""
    return for_command(text).replace(":", "%3A").replace(",", "%2C")


def cut(text):
    text = one_line(str(text))
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def is_place(line):
    """True for a line whose file is in the repository."""
    file, number = line.get("file"), line.get("line")
    return (isinstance(file, str) and isinstance(number, int) and number > 0 and file == one_line(file)
            and not file.startswith("/") and ".." not in file.split("/"))


def annotations(result):
    """The commands of the runner, warnings first."""
    found = {kind: [] for kind in KINDS.values()}
    for program in parts(result, "programs"):
        rows = {str(row.get("quantity")): row for row in parts(program, "rows")}
        for line in filter(is_place, parts(program, "lines")):
            quantity = str(line.get("quantity"))
            row = rows.get(quantity, {})
            kind = KINDS.get(str(row.get("verdict")))
            if not kind:
                continue
            share, delta = row.get("change"), line.get("delta")
            change = f" {100 * share:+.2f} %" if isinstance(share, (int, float)) else ""
            what = f"{delta:+.0f} per execution" if isinstance(delta, (int, float)) else "its code differs"
            text = f"{quantity} of '{cut(program.get('name'))}'{change}: {cut(line.get('function'))}, {what}"
            place = f"file={for_property(line['file'])},line={line['line']},title=Faultline"
            found[kind].append(f"::{kind} {place}::{for_command(text)}")
    return [command for commands in found.values() for command in commands[:MOST]]


if __name__ == "__main__":
    print(*annotations(read(Path(os.environ.get("FAULTLINE_CI_REPORT", "."), "ci.json"))), sep="\n", flush=True)
