"""The search of a line of commits beside plain `git bisect run` and `asv find`: share of correctly
named commits in simulated histories, and number of builds.

Usage: beside.py BISECT

BISECT is the built example `bisect` of faultline-stats. FAULTLINE_SEEDS is the number of
histories of each kind (100).

- `git bisect run` (the real one, in a repository with a commit for each position) calls a
  command that executes the build ten times, as hyperfine does. It compares the mean with the
  middle between the means of the ends, measured before, and skips unmeasurable commits.
- `asv find` (asv's own class, with a simulated repository and benchmark) takes the median of ten
  executions as the value of a commit. It searches for slowdowns.
- Our search knows nothing of the history except the changes of the environment.

Each of the others names one commit, or several if it could skip no further. It is right if one
of them made a step of the code, and all others, if any, are broken.
"""

import json
import os
import subprocess
import sys
from statistics import mean

from asv_find import asv_find
from git_bisect import Repository
from history import History

SEEDS = int(os.environ.get("FAULTLINE_SEEDS", "100"))
FIRST_SEED = 1000
KINDS = {"step": "one slowdown of 3 to 30 %", "bed": "three steps of the code, two of the layout, one of the toolchain"}


def ours(program, kind, seed):
    answer = subprocess.run([program, "search", kind, str(seed)], capture_output=True, text=True, check=True, timeout=600)
    return json.loads(answer.stdout)


def report(name, right, builds, executions, rest=""):
    print(f"  {name:<16} right in {right:3} of {SEEDS}; builds {mean(builds):5.1f}; executions {mean(executions):6.0f}{rest}", flush=True)


def score(find, program, kind):
    """Number of correct answers of `find`, with builds and executions."""
    right, builds, executions, failed = 0, [], [], 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        history = History(program, kind, seed)
        named = find(history)
        right += history.is_right(named)
        failed += not named
        builds.append(history.builds)
        executions.append(history.executions)
    return right, builds, executions, f"; no commit named in {failed}"


def main():
    program = os.path.abspath(sys.argv[1])
    with Repository(200) as repository:
        for kind, meaning in KINDS.items():
            print(f"{meaning}, 200 commits, 8 % broken, noise of 1 to 5 %:")
            found = [ours(program, kind, seed) for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)]
            report(
                "faultline",
                sum(one["right"] for one in found),
                [one["builds"] for one in found],
                [one["executions"] for one in found],
                f"; right means all steps and no other; all labels right too in {sum(one['labelled'] for one in found)}" if kind == "bed" else "",
            )
            report("git bisect run", *score(repository.bisect, program, kind))
            report("asv find", *score(asv_find, program, kind))


if __name__ == "__main__":
    main()
