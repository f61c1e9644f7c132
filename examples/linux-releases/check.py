"""Checks a history of kernels: check.py CHANGES.json (`history changes --format json`).

At each number of CPUs above one, page faults must move fewer lines over Linux 6.4, and the data
that moved less must begin with the lock of the address space, `mm_struct.mmap_lock`. Exits with 1
otherwise.
"""

import json
import sys

LOCK = "mm_struct.mmap_lock"


def version(release):
    """Its first two numbers: (6, 12) of 6.12.107+deb13."""
    first, second = release.split(".")[:2]
    return int(first), int(second.split("-")[0])


def across(series):
    """The step over 6.4 and the data that differ, greatest first; None without such a step."""
    for step, (after, by, *_) in zip(series["steps"], series["commits"]):
        if version(after["id"]) < (6, 4) <= version(by["id"]):
            moved = next(moved for moved in series["moved"] if moved["after"] == step["after"])
            return step, moved["counts"]["data"]
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        histories = json.load(file)
    for series in histories:
        if series["tasks"] == 1:
            continue
        found = across(series)
        name = f"{series['subject']} at {series['tasks']} CPUs"
        if found is None:
            sys.exit(f"{name}: no step over 6.4")
        step, data = found
        less = [one["of"].get("name", "") for one in data if one["difference"] < 0]
        print(f"{name}: {step['from']:.2f} to {step['to']:.2f}; moved less: {', '.join(less[:2])}")
        if step["effect"] != "better" or not less or not less[0].startswith(LOCK):
            sys.exit(f"{name}: {LOCK} is not what moved less")


if __name__ == "__main__":
    main()
