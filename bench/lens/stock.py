"""A stock kernel under the lens: seven workloads on up to 32 CPUs.

Usage: stock.py FAULTLINE DATABASE IMAGE

FAULTLINE is the built command, and IMAGE the kernel. DATABASE keeps the runs: existing ones are
not repeated, an interrupted one continues. Prints two tables: transfers per operation, and
instructions with the predicted speed-up.
"""

import sys

from counting import Runs, figure, transfers

WORKLOADS = (
    "fault_existing:shared",
    "zero_fill:base",
    "path_stat:shared-dir",
    "map_churn:threads",
    "fault_existing:own",
    "self_exec:static-shared",
    "fork_exit:small",
)
CPUS = (1, 2, 4, 8, 16, 32)
# Number of code locations named in each row.
NAMED = 3


def table(title, last, rows):
    print(f"| {title} | " + " | ".join(map(str, CPUS)) + f" | {last} |")
    print("|---" + "|---:" * len(CPUS) + "|---|")
    for workload, cells, end in rows:
        print(f"| `{workload}` | " + " | ".join(cells) + f" | {end} |")
    print(flush=True)


def moved_by(point):
    if not transfers(point):
        return "–"
    return ", ".join(f"{place['name']} {100 * place['share']:.0f} %" for place in point["code"][:NAMED])


def thousands(point):
    estimate = point and point["instructions"]
    return f"{estimate['median'] / 1000:.1f} k" if estimate else "–"


def speedup(point):
    return f"{point['speedup']:.1f}" if point and point["speedup"] else "–"


def main():
    runs, image = Runs(*sys.argv[1:3]), sys.argv[3]
    moved, executed = [], []
    for workload in WORKLOADS:
        label = runs.kernel(f"{workload} under {image}", [workload, "--tasks", ",".join(map(str, CPUS)), "--kernel", image])
        points = runs.points(label)
        cells = [points.get((workload, cpus)) for cpus in CPUS]
        moved.append((workload, [figure(transfers(cell)) for cell in cells], moved_by(cells[-1])))
        executed.append((workload, [thousands(cell) for cell in cells], speedup(cells[-1])))
    table("transfers per operation at … CPUs", f"moved most by, at {CPUS[-1]}", moved)
    table("instructions per operation", f"predicted speed-up, 1 to {CPUS[-1]}", executed)


if __name__ == "__main__":
    main()
