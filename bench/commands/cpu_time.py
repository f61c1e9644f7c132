"""Live comparisons by CPU time: a command of 25 ms with itself, and with one that does 5 % more
work, beside 0, 8 and 20 busy processes.

Usage: cpu_time.py FAULTLINE [PAIRS]

PAIRS (20) of each kind at each load, in mixed order. Prints the numbers of right, wrong and
inconclusive answers, and the time for each. Exits with 1 if an answer is wrong, or if fewer than
nine of ten slow-downs are found at some load.
"""

import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

import answers
import conditions

LOADS = (0, 8, 20)
SLOW_DOWN = 0.05
LEAST_FOUND = 0.9


def at_load(processes, faultline, pairs, directory):
    """[(planted slow-down, answer)] in mixed order."""
    spin, steps = conditions.spin(directory)
    kinds = [0.0, SLOW_DOWN] * pairs
    random.Random(processes).shuffle(kinds)
    found = []
    with conditions.load(processes, 1, "always"):
        for number, slow_down in enumerate(kinds, 1):
            sides = [f"{spin} {steps}", f"{spin} {round(steps * (1 + slow_down))}"]
            answer = answers.faultline(faultline, str(Path(directory) / "live.sqlite"), sides, ["--by", "cpu-time"])
            found.append((slow_down, answer))
            print(
                f"load {processes}, {number} of {len(kinds)}, {slow_down:+.0%}: {answer.said} {answer.ratio - 1:+.1%} "
                f"({answer.low - 1:+.1%} … {answer.high - 1:+.1%}) in {answer.took_s:.0f} s",
                flush=True,
            )
    return found


def main():
    faultline, pairs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    failed, rows = False, []
    for processes in LOADS:
        with tempfile.TemporaryDirectory() as directory:
            found = at_load(processes, faultline, pairs, directory)
        for slow_down in (0.0, SLOW_DOWN):
            said = [answer.said for planted, answer in found if planted == slow_down]
            wrong = said.count("faster") + said.count("slower" if slow_down == 0 else "equal")
            right = said.count("equal" if slow_down == 0 else "slower")
            failed |= wrong > 0 or (slow_down > 0 and right < LEAST_FOUND * pairs)
            took_s = statistics.median(answer.took_s for planted, answer in found if planted == slow_down)
            rows.append(f"load {processes:2}, {slow_down:+.0%}: {right} right, {wrong} wrong, {len(said) - right - wrong} inconclusive; {took_s:.1f} s (median)")
    print("\n".join(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
