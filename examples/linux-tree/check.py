"""Does a search name the commit that made the step, and no other? Usage: check.py DRILL.json SUBJECT, of that commit; ends with 1 if not."""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    named = [[commit["subject"] for commit in step["candidates"]] for step in found["commits"]]
    wanted = [[sys.argv[2]]]
    print("named:", named)
    if named != wanted:
        sys.exit(f"the search names {named}, not {wanted}")


if __name__ == "__main__":
    main()
