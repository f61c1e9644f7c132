"""Spread of counts between seeds: counts every workload on 8 CPUs with ten seeds.

Usage: spread.py FAULTLINE DATABASE

FAULTLINE is the built command. DATABASE keeps the runs: existing ones are not repeated, an
interrupted one continues. Prints a table.
"""

import statistics
import sys

from counting import Runs, figure

CPUS = "8"
SEEDS = "10"
# Workloads with slow operations, of which each task does only this many; the others use their
# default.
LONG = {"fork_exit:large": "8", "zero_fill:huge": "8"}


def counted(runs):
    """The labels of the runs."""
    everywhere = ["--tasks", CPUS, "--repeats", SEEDS]
    short = [workload for workload in runs.workloads() if workload not in LONG]
    yield runs.kernel("spread", [*short, *everywhere])
    for workload, operations in LONG.items():
        yield runs.kernel(f"spread of {workload}", [workload, *everywhere, "--ops", operations])


def row(workload, repeats):
    middle, low, high = statistics.median(repeats), min(repeats), max(repeats)
    width = f"{100 * (high - low) / middle:.1f} %" if middle > 0 else "–"
    return f"| `{workload}` | {len(repeats)} | {figure(middle)} | {figure(low)} | {figure(high)} | {width} |"


def main():
    runs = Runs(*sys.argv[1:3])
    print(f"| transfers per operation, {CPUS} CPUs | seeds | median | least | most | range, of the median |")
    print("|---|---:|---:|---:|---:|---:|")
    for label in counted(runs):
        for (workload, _), point in runs.points(label).items():
            if point["repeats"]:
                print(row(workload, point["repeats"]), flush=True)


if __name__ == "__main__":
    main()
