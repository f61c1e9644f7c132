"""How far do counts differ from seed to seed? Counts every workload at 8 CPUs with ten seeds.

Usage: spread.py FAULTLINE DATABASE
FAULTLINE is the built command. DATABASE keeps the run: if it has it, it is not made again, and if it was interrupted it goes on. Prints a table.
"""

import statistics
import sys

from counting import Runs, figure

CPUS = "8"
SEEDS = "10"


def row(workload, repeats):
    middle, low, high = statistics.median(repeats), min(repeats), max(repeats)
    width = f"{100 * (high - low) / middle:.1f} %" if middle > 0 else "–"
    return f"| `{workload}` | {len(repeats)} | {figure(middle)} | {figure(low)} | {figure(high)} | {width} |"


def main():
    runs = Runs(*sys.argv[1:3])
    label = runs.kernel("spread", [*runs.workloads(), "--cpus", CPUS, "--repeats", SEEDS])
    print(f"| transfers per operation, {CPUS} CPUs | seeds | median | least | most | range, of the median |")
    print("|---|---:|---:|---:|---:|---:|")
    for (workload, _), point in runs.points(label).items():
        if point["repeats"]:
            print(row(workload, point["repeats"]))


if __name__ == "__main__":
    main()
