"""Checks that a search names one commit, that with SUBJECT: check.py SEARCH.json SUBJECT."""

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
