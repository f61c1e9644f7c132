"""Does a history of releases of arc-swap show where loads stopped writing shared lines? Usage: check.py CHANGES.json, of `history changes --format json`.

There is one step, from the last release before 0.4.0 that was measured to the first from 0.4.0 on, where a load took its debt slot in place of a count that
all threads share: of more than one transfer for each load to less than a hundredth. What moved less begins with the counts in `Arc` and in the lock of writers.
Ends with 1 if not.
"""

import json
import sys

# Of harness/src/main.rs: what each of 8 threads does.
LOADS = 8 * 2000


def version(commit):
    """(0, 4, 0) of a commit whose subject is `arc-swap 0.4.0`."""
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
