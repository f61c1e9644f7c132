"""The change finder beside Perfherder's t-test, asv, Apache Otava, PELT, robust FPOP, NOT and
SMUCE, with their defaults and at their best: false-positive rates by noise and length, power, and
scores on real annotated series.

Usage: beside.py STEPS

STEPS is the built example `steps` of faultline-stats. FAULTLINE_TCPD, FAULTLINE_NUMPY_BENCH,
FAULTLINE_SCIPY_BENCH and FAULTLINE_ENSO_BENCH name clones of the archives (MARKS.md); missing
archives are reported and left out. Series are simulated with fixed seeds, around a level of 100
with a standard deviation of 5.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

import numpy

import archives
import fpop
import narrowest
import smuce
from noises import NOISES, stepped
from peers import PEERS, TRIED, large
from scores import cover, f1, hits

SEED = 20261122
TRIALS = {50: 200, 200: 200, 1000: 100, 5000: 40}
PEER_TRIALS = {50: 100, 200: 100}
STEPPED = [(30, 1.0), (30, 1.5), (30, 2.0), (100, 0.5), (100, 1.0)]


def ours(program, all_values):
    """The steps of each series, and the CPU time per series in seconds."""
    lines = "".join(json.dumps({"name": "", "values": list(map(float, values))}) + "\n" for values in all_values)
    begun = cpu_seconds_of_children()
    answer = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=3600)
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    return [set(one["steps"]) for one in found], (cpu_seconds_of_children() - begun) / len(all_values)


def cpu_seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def of_peer(find, all_values):
    begun = time.process_time()
    found = [find(list(map(float, values))) for values in all_values]
    return found, (time.process_time() - begun) / len(all_values)


def row(name, cells, width=12):
    print(f"  {name:28}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


def simulated(make, points, trials):
    rng = numpy.random.default_rng([SEED, points])
    return [100 + 5 * make(rng, points) for _ in range(trials)]


def show_rates(program):
    print("share of series without a step in which one is found; stated: 10 %")
    row("points", [f"{points:,}" for points in TRIALS])
    for name, make in NOISES.items():
        found = (ours(program, simulated(make, points, trials))[0] for points, trials in TRIALS.items())
        row(name, [f"{mean(map(bool, steps)):.1%}" for steps in found])
    for points, trials in PEER_TRIALS.items():
        print(f"the same of others, {points} points")
        row("", PEERS)
        for name, make in NOISES.items():
            series = simulated(make, points, trials)
            row(name, [f"{mean(map(bool, of_peer(find, series)[0])):.0%}" for find in PEERS.values()])


def show_power(program):
    print("white noise with one step: share found within 5 points / of series with any other")
    row("", ["faultline", *PEERS])
    for each, size in STEPPED:
        rng = numpy.random.default_rng(SEED)
        series = [100 + 5 * stepped(rng, each, size) for _ in range(200)]
        found = [ours(program, series)[0], *(of_peer(find, series)[0] for find in PEERS.values())]
        near = [[hits({each}, steps) for steps in of] for of in found]
        others = [mean(len(steps) > one for steps, one in zip(of, hit)) for of, hit in zip(found, near)]
        row(f"{size} sd, {each} points a side", [f"{mean(hit):.0%} / {other:.0%}" for hit, other in zip(near, others)])


def with_values(series):
    """The places with a value, and the values, of each series."""
    places = [[i for i, value in enumerate(values) if value is not None and value == value] for _, values, _ in series]
    return places, [[one[1][i] for i in there] for one, there in zip(series, places)]


def mean_f1(series, places, found):
    return mean(f1(one[2], {there[i] for i in steps}) for one, there, steps in zip(series, places, found))


LEAST = (0, 0.01, 0.02)  # smallest steps that are tried


def at_their_best(tuning):
    """The settings of each with the highest F1 on these series."""
    places, values = with_values(tuning)
    best = {}
    for name, tried in TRIED.items():
        scores = []
        for find in tried:
            found, _ = of_peer(find, values)
            for least in LEAST:
                kept = [large(of, steps, least) for of, steps in zip(values, found)]
                scores.append((mean_f1(tuning, places, kept), find, least))
        score, find, least = max(scores, key=lambda one: one[0])
        best[name] = lambda of, find=find, least=least: large(of, find(of), least)
        print(f"{name} at its best on the tuning parts: F1 {score:.3f}, {find.keywords}, steps of at least {least:.0%}", flush=True)
    return best


def show_marked(title, program, series, best):
    places, values = with_values(series)
    answers = {"faultline": ours(program, values)}
    for name, find in PEERS.items():
        answers[name] = of_peer(find, values)
        if name in best:
            answers[name + " best"] = of_peer(best[name], values)
    answers["no step"] = ([set() for _ in series], 0.0)
    print(f"{title}, {len(series)} series")
    row("", ["F1", "cover", "steps", "CPU ms"])
    for name, (found, seconds) in answers.items():
        steps = [{there[i] for i in one} for one, there in zip(found, places)]
        scores = mean_f1(series, places, found), mean(cover(one[2], of, len(one[1])) for one, of in zip(series, steps))
        row(name, [*(f"{score:.3f}" for score in scores), sum(map(len, found)), f"{1e3 * seconds:.2f}"])


ARCHIVES = (
    ("FAULTLINE_TCPD", "Turing Change Point Dataset", archives.turing),
    ("FAULTLINE_NUMPY_BENCH", "NumPy, tuning", lambda path: archives.marked("numpy", "tuning", path)),
    ("FAULTLINE_ENSO_BENCH", "Enso, tuning", lambda path: archives.marked("enso", "tuning", path)),
    ("FAULTLINE_NUMPY_BENCH", "NumPy, held out", lambda path: archives.marked("numpy", "held out", path)),
    ("FAULTLINE_ENSO_BENCH", "Enso, held out", lambda path: archives.marked("enso", "held out", path)),
    ("FAULTLINE_NUMPY_BENCH", "NumPy, second held out", lambda path: archives.marked("numpy", "second held out", path)),
    ("FAULTLINE_ENSO_BENCH", "Enso, second held out", lambda path: archives.marked("enso", "second held out", path)),
    ("FAULTLINE_SCIPY_BENCH", "SciPy, second held out", lambda path: archives.marked("scipy", "second held out", path)),
)


def show_archives(program):
    there = {title: list(read(Path(os.environ[variable]))) for variable, title, read in ARCHIVES if variable in os.environ}
    tuning = [one for title, series in there.items() if title.endswith("tuning") for one in series]
    best = at_their_best(tuning) if tuning else {}
    for variable, title, _ in ARCHIVES:
        if title in there:
            show_marked(title, program, there[title], best)
        else:
            print(f"{title}: left out, {variable} names no clone")
    show_quiet(program, [one for title, series in there.items() if "Turing" not in title for one in series], best)


QUIET_POINTS = 50  # minimum number of points between two marks


def show_quiet(program, series, best):
    """Real noise: series without a mark, and stretches between marks."""
    quiet = []
    for _, values, [marks] in series:
        ends = [0, *sorted(marks), len(values)]
        quiet += [values[a:b] for a, b in zip(ends, ends[1:]) if b - a >= QUIET_POINTS]
    if quiet:
        print(f"share of {len(quiet)} real stretches without a mark in which a step is found; stated: 10 %")
        finders = {name: find for peer in PEERS for name, find in ((peer, PEERS[peer]), (peer + " best", best.get(peer))) if find}
        row("faultline", [f"{mean(map(bool, ours(program, quiet)[0])):.1%}"])
        for name, find in finders.items():
            row(name, [f"{mean(map(bool, of_peer(find, quiet)[0])):.1%}"])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: beside.py STEPS")
    for paper in (fpop, narrowest, smuce):
        paper.check()
    show_archives(sys.argv[1])
    show_power(sys.argv[1])
    show_rates(sys.argv[1])


if __name__ == "__main__":
    main()
