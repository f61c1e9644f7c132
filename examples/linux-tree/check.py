"""Does a search name the commit that made the step, and no other? Usage: check.py DRILL.json; ends with 1 if not."""

import json
import sys

WANTED = "mm/page_alloc: free pages go straight to the zone"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    named = [[commit["subject"] for commit in step["candidates"]] for step in found["commits"]]
    print("named:", named)
    if named != [[WANTED]]:
        sys.exit(f"the search names {named}, not {[[WANTED]]}")


if __name__ == "__main__":
    main()
