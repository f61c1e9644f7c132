"""Checks that commits with the same kernel share counts in the history of small.sh: check_shared.py
HISTORY.json (`history show --format json`).

Commits 1 and 4 have the same kernel in images that differ in unused bytes, so each has a count of
its own, and both are equal. Commits 7 and 9 have the same image, so the second shares the count of
the first.
"""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        (series,) = json.load(file)
    points = series["points"]
    found = [(point["estimate"]["median"], point.get("same_as") is not None) for point in points if point["result"] == "measured"]
    print("transfers, and whether shared:", found)
    if len(found) != 4:
        sys.exit(f"{len(found)} commits are measured, not 4")
    (first, _), (unrelated, is_shared), (newer, _), (last, shares) = found
    if first != unrelated or is_shared:
        sys.exit("the commit with further bytes was not counted by itself, or its count differs")
    if newer != last or not shares:
        sys.exit("two commits with one image do not share its count")
    if newer >= first:
        sys.exit("the newer kernel does not move less")


if __name__ == "__main__":
    main()
