"""The change finder beside Perfherder's t-test, asv, Apache Otava and PELT: false-positive rates by
noise and length, power, and scores on real annotated series.

Usage: beside.py STEPS

STEPS is the built example `steps` of faultline-stats. FAULTLINE_TCPD, FAULTLINE_NUMPY_BENCH and
FAULTLINE_ENSO_BENCH name clones of the archives (MARKS.md); missing archives are reported and
left out. Series are simulated with fixed seeds, around a level of 100 with a standard deviation
of 5.
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
from noises import NOISES, stepped
from peers import PEERS
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


def row(name, cells, width=14):
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


def show_marked(title, program, series):
    known = [[i for i, value in enumerate(values) if value is not None and value == value] for _, values, _ in series]
    values = [[one[1][i] for i in there] for one, there in zip(series, known)]
    answers = {"faultline": ours(program, values), **{name: of_peer(find, values) for name, find in PEERS.items()}}
    answers["no step"] = ([set() for _ in series], 0.0)
    steps = {name: [{there[i] for i in one} for one, there in zip(found, known)] for name, (found, _) in answers.items()}
    print(f"{title}, {len(series)} series")
    row("", answers)
    row("F1", [f"{mean(f1(one[2], found) for one, found in zip(series, of)):.3f}" for of in steps.values()])
    row("cover", [f"{mean(cover(one[2], found, len(one[1])) for one, found in zip(series, of)):.3f}" for of in steps.values()])
    row("steps", [sum(map(len, of)) for of in steps.values()])
    row("CPU ms a series", [f"{1e3 * seconds:.2f}" for _, seconds in answers.values()])


def show_archives(program):
    for variable, title, read in (
        ("FAULTLINE_TCPD", "Turing Change Point Dataset", archives.turing),
        ("FAULTLINE_NUMPY_BENCH", "NumPy, tuning", lambda path: archives.marked("numpy", "tuning", path)),
        ("FAULTLINE_NUMPY_BENCH", "NumPy, held out", lambda path: archives.marked("numpy", "held out", path)),
        ("FAULTLINE_ENSO_BENCH", "Enso, tuning", lambda path: archives.marked("enso", "tuning", path)),
        ("FAULTLINE_ENSO_BENCH", "Enso, held out", lambda path: archives.marked("enso", "held out", path)),
    ):
        if variable in os.environ:
            show_marked(title, program, list(read(Path(os.environ[variable]))))
        else:
            print(f"{title}: left out, {variable} names no clone")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: beside.py STEPS")
    show_archives(sys.argv[1])
    show_power(sys.argv[1])
    show_rates(sys.argv[1])


if __name__ == "__main__":
    main()
