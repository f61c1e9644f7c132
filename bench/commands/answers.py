"""Answers of `faultline compare` about two commands or two files, and of Welch's test about
hyperfine's times.
"""

import json
import subprocess
import time
from dataclasses import dataclass

from scipy.stats import ttest_ind

LIMIT_S = 600
SIGNIFICANCE = 0.05


@dataclass
class Answer:
    """`said`: 'faster', 'slower', 'equal' or 'inconclusive', about the second side. `ratio`: second
    over first, with its interval.
    """

    said: str
    ratio: float
    low: float
    high: float
    took_s: float

    @property
    def differs(self):
        return self.said in ("faster", "slower")


def run(words):
    began_s = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout, time.monotonic() - began_s


def faultline(command, database, sides, options):
    """The answer about the time of `sides`: two commands, or two files."""
    text, took_s = run([command, "--db", database, "compare", *sides, "--quiet", "--format", "json", *options])
    workloads = json.loads(text)["workloads"]
    # Files have other figures beside the time, for which hyperfine gives only a mean.
    timed = next(one for one in workloads if one["a"]["units"] > 1)
    ratio = timed["ratio"] or {"value": float("nan"), "low": float("nan"), "high": float("nan")}
    return Answer(timed["answer"], ratio["value"], ratio["low"], ratio["high"], took_s)


def hyperfine(sides, options, output):
    """Times of each command in seconds, from one call, which measures the commands one after the
    other.
    """
    _, took_s = run(["hyperfine", "--style", "none", "--shell", "none", "--export-json", output, *options, *sides])
    with open(output) as file:
        return [result["times"] for result in json.load(file)["results"]], took_s


def welch(a, b, took_s):
    """The answer of Welch's test about two lists of times, at 5 %. It has no answer 'equal'."""
    test = ttest_ind(a, b, equal_var=False)
    mean = sum(a) / len(a)
    ratio = sum(b) / len(b) / mean
    # B − A, as a share of A's mean.
    interval = ttest_ind(b, a, equal_var=False).confidence_interval(1 - SIGNIFICANCE)
    said = "inconclusive" if not test.pvalue < SIGNIFICANCE else "slower" if ratio > 1 else "faster"
    return Answer(said, ratio, 1 + interval.low / mean, 1 + interval.high / mean, took_s)
