"""Live comparisons on this machine: equal sides, which must not differ, and known differences,
which must be found and end early.

Usage: live.py FAULTLINE [PAIRS]

FAULTLINE is the built command. Makes PAIRS (20) comparisons of this machine with itself, with
three workloads each; at the 95 % level, 5 % of them may report a difference. Exits with 1 if
more do than chance explains, or if a known difference is not found.
"""

import json
import os
import subprocess
import sys
import tempfile
from math import comb
from pathlib import Path

WORKLOADS = ["zero_fill:base", "fork_exit:small", "path_stat:distinct"]
LEVEL = 0.95
BLOCKS = "20"

# A program, to be compared with itself doing one twelfth more work.
COUNT = "import sys\nn = int(sys.argv[1])\nwhile n: n -= 1\n"


def compare(faultline, database, arguments):
    words = [faultline, "--db", database, "compare", "-q", "--format", "json", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        sys.exit(f"live.py: {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def summary(found):
    sequential = found["sequential"]
    answers = ", ".join(
        f"{one['name']} {one['answer']} {(one['ratio'] or {'value': float('nan')})['value']:.3f}" for one in found["workloads"]
    )
    return f"{sequential['looks'][sequential['taken'] - 1]['blocks']} blocks, {sequential['ended']}: {answers}"


def equal_sides(faultline, database, pairs):
    """Number of comparisons of equal sides, out of `pairs`, that report a difference."""
    wrong = 0
    for number in range(1, pairs + 1):
        found = compare(faultline, database, [*WORKLOADS, "--a", "", "--b", "", "--tasks", "1", "--repeats", BLOCKS])
        differs = any(one["answer"] in ("faster", "slower") for one in found["workloads"])
        wrong += differs
        print(f"equal sides {number:2} of {pairs}: {'DIFFER' if differs else 'equal'}; {summary(found)}", flush=True)
    return wrong


def known_differences(faultline, database, directory):
    """(description, arguments) of true differences."""
    program = Path(directory) / "count.py"
    program.write_text(COUNT)
    run = lambda n: f"command='{sys.executable} {program} {n}'"
    return [
        ("huge pages", ["--a", "workload=zero_fill:base", "--b", "workload=zero_fill:huge", "--tasks", "1"], "faster"),
        ("a program with half as much more to do", ["--a", run(400_000), "--b", run(600_000), "--tasks", "1"], "slower"),
        ("a program with a twelfth more to do", ["--a", run(1_200_000), "--b", run(1_300_000), "--tasks", "1"], "slower"),
    ]


def chance_of(wrong, pairs, rate):
    """Probability of at least this number of false alarms at the nominal rate."""
    return sum(comb(pairs, k) * rate**k * (1 - rate) ** (pairs - k) for k in range(wrong, pairs + 1))


def main():
    faultline, pairs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        database = str(Path(directory) / "live.sqlite")
        for what, arguments, wanted in known_differences(faultline, database, directory):
            found = compare(faultline, database, arguments)
            right = all(one["answer"] == wanted for one in found["workloads"])
            failed |= not right
            print(f"{what}: {'found' if right else 'NOT FOUND'}; {summary(found)}", flush=True)
        wrong = equal_sides(faultline, database, pairs)
    chance = chance_of(wrong, pairs, 1 - LEVEL)
    print(f"{wrong} of {pairs} pairs of equal sides differ; so many or more come by chance in {chance:.0%}")
    sys.exit(1 if failed or chance < 0.01 else 0)


if __name__ == "__main__":
    main()
