#!/usr/bin/env python3
"""Shared cache lines of commuting operations of the memory system.

    commuting.py FAULTLINE PROGRAM DIRECTORY [--least SHARE] [--minutes N]

FAULTLINE is the built command and PROGRAM the built `commute_loop`. Runs its pairs of operations in
guests under the lens, some pairs per boot. Prints, as Markdown, the share of pairs without a moving
line, and the lines that the others share; DIRECTORY/exceptions.txt lists the latter. DIRECTORY
keeps counted batches, which are not counted again. Exits with status 1 if the share is below SHARE
(0…1), if the lens misses the control (a line that two CPUs do write), or after N minutes.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# As in commute_loop/arena.rs.
BASE = 0x2000_0000_0000
ARENA_BYTES = 1 << 20

# Pairs of a boot. A reading keeps the top 200 lines; a batch that moves more is divided.
BATCH = 60

TLB = "TLB of a CPU"

# Structures, by the functions that access them; the innermost matching function decides.
STRUCTURES = {
    TLB: "cpu pin forget flush keep find shoot",
    "count of a page table's entries": "hold let_go",
    "entries of a page table": "change_entry way walk remove enter table_below protect query",
    "slots of a space's tree": "look lock_at try_lock unlock unlock_as lock_next lock_behind set visit_node copy_node retire_below split set_mapping mapping map_around",
    "states of pages": "step state is_sole wait_until_valid",
    "lock and place of a CPU's page tables": "each_tables with_tables own",
    "CPUs on which a space is active": "others_than has leave activate is_active",
    "records of mappings and objects, with their owners": "share release as_ref resolve_object another note map_object release_after release_mapping split_as",
    "pages of an object": "page publish child",
    "frames": "park_taken free_taken put_free take get_zeroed_as get_as get_at_hand put",
    "a space's own record": "id check_active",
    "contents of frames": "zero copy access",
}
# Structures changed by a due shoot-down: an operation removes a translation that the other CPU may
# have. A moving line of a TLB shows that one was made.
OF_DUE_SHOOT_DOWNS = {TLB, "count of a page table's entries", "entries of a page table", "lock and place of a CPU's page tables"}
STRUCTURE_OF = {name: structure for structure, names in STRUCTURES.items() for name in names.split()}


@dataclass(frozen=True)
class Pair:
    """A pair as printed by the program: number, names and parameters."""

    number: int
    names: tuple
    relation: str
    operations: tuple

    @staticmethod
    def read(line):
        number, first, second, relation, *operations = line.split("\t")
        return Pair(int(number), (first, second), relation, tuple(operations))


def run(command, deadline):
    """Standard output of a command."""
    try:
        left = max(deadline - time.monotonic(), 0.1)
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        sys.exit("error: out of time; hint: --minutes, on a host with other load; what was counted is kept")
    if done.returncode != 0:
        sys.exit(f"error: {command[0]}: {done.stderr or done.stdout}")
    return done.stdout


def pairs_of(program, drawn, deadline):
    """All pairs, by their numbers: the program without the lens runs and checks each."""
    said = run([program, *drawn], deadline)
    return {pair.number: pair for pair in map(Pair.read, said.splitlines())}


def structure(functions):
    """The structure accessed by a chain of inlined functions, innermost first, and their names."""
    names = [name for function in functions if (name := function.split("<")[0]) and "{" not in name]
    if "activate" in names and "enter" in names:
        return "CPUs on which a space is active", names
    known = (STRUCTURE_OF[name] for name in names if name in STRUCTURE_OF)
    return next(known, "other"), names


def moved(reading):
    """Lines that moved, by pair number and structure, with the functions that moved each."""
    by_pair = defaultdict(lambda: defaultdict(list))
    for line in reading["lines"]:
        number = (line["address"] - BASE) // ARENA_BYTES
        sites = [reading["code"].get(str(site["address"]), {}) for site in line["by_site"]]
        chains = [[site.get("function") or "?", *site.get("between", []), site.get("inlined_into") or ""] for site in sites]
        structures = [structure(chain) for chain in chains]
        most = Counter(which for which, _ in structures).most_common(1)[0][0]
        names = {" < ".join(names[-3:]) for which, names in structures if which == most}
        by_pair[number][most].append(" and ".join(sorted(names)))
    return by_pair


def count(faultline, program, place, drawn, deadline, first, pairs):
    """Readings of pairs from a number on: one, or several if too many lines moved."""
    kept = place / f"{'-'.join(drawn[1::2])}-{first}-{pairs}.sqlite"
    if not kept.exists():
        database = kept.with_suffix(".new")
        database.unlink(missing_ok=True)
        command = [faultline, "lens", "program", "--quiet", "--limit", "10m", "--db", database, "--tasks", "2", "--ops", "1", "--seed", "1"]
        arguments = ["--threads", "{tasks}", *drawn, "--first", first, "--pairs", pairs]
        run([*command, "--", program, *arguments], deadline)
        database.rename(kept)
    with sqlite3.connect(kept) as database:
        [(text,)] = database.execute("SELECT json FROM reading")
    reading = json.loads(text)
    if reading["problems"]:
        sys.exit(f"error: pairs from {first} on: {reading['problems']}")
    if len(reading["lines"]) == reading["lines_moved"]:
        return [(first + pairs, moved(reading))]
    half = pairs // 2
    if half == 0:
        sys.exit(f"error: pair {first} moves {reading['lines_moved']} lines, more than a reading keeps")
    return [
        *count(faultline, program, place, drawn, deadline, first, half),
        *count(faultline, program, place, drawn, deadline, first + half, pairs - half),
    ]


def is_due_shoot_down(reasons):
    """True if lines of a pair moved only for a due shoot-down."""
    return TLB in reasons and reasons.keys() <= OF_DUE_SHOOT_DOWNS


def share(pairs, conflicts):
    free = sum(pair.number not in conflicts for pair in pairs)
    return f"{free} of {len(pairs)} | {100 * free / len(pairs):.1f} %"


def rows(title, pairs, conflicts, groups):
    """A table of shares. `groups`: the groups that a pair belongs to."""
    by_group = defaultdict(list)
    for pair in pairs.values():
        for group in groups(pair):
            by_group[group].append(pair)
    print(f"\n| {title} | pairs that share no line | share |\n|---|---:|---:|")
    for group in sorted(by_group):
        print(f"| {group} | {share(by_group[group], conflicts)} |")


def show(pairs, conflicts):
    print("| | pairs that share no line | share |\n|---|---:|---:|")
    print(f"| all | {share(list(pairs.values()), conflicts)} |")
    others = {number: reasons for number, reasons in conflicts.items() if not is_due_shoot_down(reasons)}
    print(f"| with those that share only lines of a shoot-down that is due | {share(list(pairs.values()), others)} |")
    rows("one of the operations", pairs, conflicts, lambda pair: set(pair.names))
    rows("what the two have in common", pairs, conflicts, lambda pair: [pair.relation])
    reasons = Counter(reason for reasons in conflicts.values() for reason in reasons)
    alone = Counter(next(iter(reasons)) for reasons in conflicts.values() if len(reasons) == 1)
    print("\n| lines that the others share | pairs | of these, for no other reason |\n|---|---:|---:|")
    for reason, number in reasons.most_common():
        print(f"| {reason} | {number} | {alone[reason]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faultline", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=2, help="pairs for every two kinds of operations")
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * asked.minutes
    faultline, program = asked.faultline.resolve(), asked.program.resolve()
    drawn = ["--seed", str(asked.seed), "--each", str(asked.each)]
    pairs = pairs_of(program, drawn, deadline)
    numbers = range(0, max(pairs) + 1, BATCH)
    boots = [(first, min(BATCH, max(pairs) + 1 - first)) for first in numbers]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = [pool.submit(count, faultline, program, asked.directory, drawn, deadline, *boot) for boot in boots]
        counted = [part for of_boot in counts for part in of_boot.result()]
    conflicts = {}
    for control, by_pair in counted:
        if sum(map(len, by_pair.pop(control, {}).values())) != 1:
            sys.exit(f"error: the lens did not find the one line that the control {control} shares")
        conflicts |= by_pair
    if strangers := conflicts.keys() - pairs.keys():
        sys.exit(f"error: lines moved outside the pairs' arenas: {sorted(strangers)[:5]}")
    show(pairs, conflicts)
    exceptions = asked.directory / "exceptions.txt"
    with open(exceptions, "w") as file:
        for number in sorted(conflicts):
            print(f"{number}: {' · '.join(pairs[number].operations)} ({pairs[number].relation})", file=file)
            for reason, lines in conflicts[number].items():
                print(*(f"    {reason}: {functions}" for functions in sorted(set(lines))), sep="\n", file=file)
    print(f"\nEach pair that shares lines, with the functions that do: {exceptions}")
    reached = 1 - len(conflicts) / len(pairs)
    if reached < asked.least:
        sys.exit(f"error: {100 * reached:.1f} % of the pairs share no line, less than {100 * asked.least:.1f} %")


if __name__ == "__main__":
    main()
