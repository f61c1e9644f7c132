"""Checks a history of arc-swap's releases: check.py CHANGES.json (`history changes --format json`).

The only step must lead from the last release before 0.4.0 to the first from 0.4.0 on, where a load
began to use its debt slot instead of a shared count: from more than one transfer per load to less
than a hundredth. The data that moved less must begin with the counts in `Arc` and in the writers'
lock. Exits with 1 otherwise.
"""

import json
import sys

# Loads of all 8 threads in harness/src/main.rs.
LOADS = 8 * 2000


def version(commit):
    """(0, 4, 0) of a commit with the subject `arc-swap 0.4.0`."""
    return tuple(int(part) for part in commit["subject"].split()[1].split("."))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        [series] = json.load(file)
    steps = [
        (after["subject"], by["subject"], step["from"] / LOADS, step["to"] / LOADS)
        for step, (after, by, *_) in zip(series["steps"], series["commits"])
    ]
    for after, by, before, now in steps:
        print(f"{after} to {by}: {before:.4f} to {now:.4f} transfers a load")
    if len(steps) != 1:
        sys.exit(f"{len(steps)} steps instead of one")
    after, by, *_ = series["commits"][0]
    if not version(after) < (0, 4, 0) <= version(by):
        sys.exit("the step is elsewhere")
    _, _, before, now = steps[0]
    if before < 1 or now > 0.01:
        sys.exit("the step is another one")


if __name__ == "__main__":
    main()
