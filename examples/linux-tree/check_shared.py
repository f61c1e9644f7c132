"""Do commits with the same kernel count the same in the history of small.sh? Usage: check_shared.py HISTORY.json, of `history show --format json`; ends with 1 if not.

Commits 1 and 4 have one kernel, and the image of the second has further bytes, so each has a count of its own. Commits 7 and 9 have one image, so the second
shares the count of the first.
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
        sys.exit("the commit with further bytes was not counted anew, or counts otherwise")
    if newer != last or not shares:
        sys.exit("two commits with one image do not share its count")
    if newer >= first:
        sys.exit("the newer kernel does not move less")


if __name__ == "__main__":
    main()
