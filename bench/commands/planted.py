"""Live comparisons of a command of 25 ms with itself and with slower ones, on this machine with and
without load, beside hyperfine.

Usage: planted.py FAULTLINE [EQUAL PLANTED]

EQUAL (40) pairs of equal commands, and PLANTED (10) of each slow-down: 1, 3 and 10 %. For
comparison, hyperfine measures both commands in one call with its defaults, and Welch's test
compares the times. Prints the numbers of right, wrong and inconclusive answers, and the time for
each. Exits with 1 if `faultline compare` ever gives a wrong sign, or reports more differences
between equal pairs than its 5 % allow by chance.
"""

import os
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from scipy.stats import binom

import answers
import conditions

SLOW_DOWNS = (0.01, 0.03, 0.10)
LOAD_PROCESSES = 3
MARGIN = 0.02
FALSE_POSITIVES = 0.05
# Probability, in a battery of a hundred, of more false positives by chance than are accepted.
CHANCE = 0.01


def judged(answer, slow_down):
    """'right', 'inconclusive', 'false alarm', 'wrong sign', or 'wrong': equal, for a difference
    beyond the margin.
    """
    if answer.said == "inconclusive":
        return "inconclusive"
    if slow_down == 0:
        return "right" if answer.said == "equal" else "false alarm"
    if answer.said == "equal":
        return "right" if slow_down <= MARGIN else "wrong"
    return "right" if answer.said == "slower" else "wrong sign"


def trials(equal, planted):
    """Slow-downs in mixed order, so that no kind has a time of its own."""
    kinds = [0.0] * equal + [slow_down for slow_down in SLOW_DOWNS for _ in range(planted)]
    random.Random(1).shuffle(kinds)
    return kinds


def battery(name, processes, faultline, equal, planted, directory):
    """Answers by (method, slow-down)."""
    spin, steps = conditions.spin(directory)
    found = defaultdict(list)
    for number, slow_down in enumerate(trials(equal, planted), 1):
        sides = [f"{spin} {steps}", f"{spin} {round(steps * (1 + slow_down))}"]
        database = str(Path(directory) / "live.sqlite")
        with conditions.load(processes, number):
            ours = answers.faultline(faultline, database, sides, [])
        with conditions.load(processes, number):
            times, took_s = answers.hyperfine(sides, [], str(Path(directory) / "times.json"))
        theirs = answers.welch(*times, took_s)
        for method, answer in (("faultline compare", ours), ("hyperfine and Welch", theirs)):
            found[method, slow_down].append((judged(answer, slow_down), answer))
        row = "; ".join(
            f"{answer.said} {answer.ratio - 1:+.1%} ({answer.low - 1:+.1%} … {answer.high - 1:+.1%}) in {answer.took_s:.0f} s"
            for answer in (ours, theirs)
        )
        print(f"{name}, {slow_down:+.0%}: {row}", flush=True)
    return found


def table(name, found):
    lines = [f"{name}: of each kind, how many answers were …"]
    for (method, slow_down), judged_answers in sorted(found.items()):
        words = [word for word, _ in judged_answers]
        counted = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
        took_s = statistics.median(answer.took_s for _, answer in judged_answers)
        lines.append(f"  {method}, {slow_down:+.0%}: {counted}; {took_s:.1f} s (median)")
    return "\n".join(lines)


def main():
    faultline = os.path.abspath(sys.argv[1])
    equal, planted = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (40, 10)
    failed = False
    for name, processes in (("quiet", 0), ("loaded", LOAD_PROCESSES)):
        with tempfile.TemporaryDirectory() as directory:
            found = battery(name, processes, faultline, equal, planted, directory)
        print(table(name, found), flush=True)
        ours = [word for (method, _), all_of in found.items() if method == "faultline compare" for word, _ in all_of]
        failed |= "wrong sign" in ours or binom.sf(ours.count("false alarm") - 1, equal, FALSE_POSITIVES) < CHANCE
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
