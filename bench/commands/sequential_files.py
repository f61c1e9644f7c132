"""Equal commands, each measured by hyperfine in a session of its own, while the machine's load
changes between sessions.

Usage: sequential_files.py FAULTLINE [PAIRS]

Of PAIRS (100) pairs of files, `faultline compare A B` may report at most 5 as different. For
comparison: its answers with `--assume-quiet`, and those of Welch's test on the same times. Exits
with 1 if more than one in twenty is reported as different.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import answers
import conditions

RUNS = "12"
MOST_LOAD = 4


def session(command, load, seed, output):
    with conditions.load(load, seed):
        (times,), took_s = answers.hyperfine([command], ["--runs", RUNS, "--warmup", "1"], output)
    return times, took_s


def main():
    faultline, pairs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    said = {"faultline compare": Counter(), "with --assume-quiet": Counter(), "Welch's test": Counter()}
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as directory:
        spin, steps = conditions.spin(directory)
        command = f"{spin} {steps}"
        database = str(Path(directory) / "files.sqlite")
        for number in range(1, pairs + 1):
            files = [str(Path(directory) / name) for name in ("a.json", "b.json")]
            loads = [draw.randint(0, MOST_LOAD) for _ in files]
            times = [session(command, load, draw.randrange(10**6), file)[0] for load, file in zip(loads, files)]
            plain = answers.faultline(faultline, database, files, [])
            quiet = answers.faultline(faultline, database, files, ["--assume-quiet"])
            welch = answers.welch(*times, 0)
            for name, answer in zip(said, (plain, quiet, welch)):
                said[name][answer.said] += 1
            print(
                f"pair {number:3}, load {loads[0]} and {loads[1]}: {plain.said}; with --assume-quiet {quiet.said};"
                f" Welch {welch.said}, {welch.ratio - 1:+.1%}",
                flush=True,
            )
    for name, counted in said.items():
        differ = counted["faster"] + counted["slower"]
        print(f"{name}: {differ} of {pairs} called different, {counted['equal']} equal, {counted['inconclusive']} inconclusive")
    plain = said["faultline compare"]
    sys.exit(1 if 20 * (plain["faster"] + plain["slower"]) > pairs else 0)


if __name__ == "__main__":
    main()
