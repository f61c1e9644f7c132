"""Exact repeatability of a machine under the lens: counts every workload twice with the same seed
on 8, 64 and 32 CPUs.

Usage: repeats.py FAULTLINE DATABASE [CPUS…]

FAULTLINE is the built command. DATABASE keeps the runs: existing ones are not repeated, an
interrupted one continues. During the second run on 8 CPUs, two processes compete for each CPU of
this host. Prints a table. Exits with 1 if two counts differ, or if an execution failed.

Two counts are identical if all saved data are equal: each line that moved with its name, the
CPUs that fetched it and the code; the transfers of each member of each type; all totals and
clocks.
"""

import contextlib
import os
import subprocess
import sys

from counting import Runs, figure, transfers

CPUS = ("8", "64", "32")
# Operations of each task. Most of a run's time is spent in boots.
OPERATIONS = "16"
BUSY_CPUS = "8"
# A busy loop that ends with its parent.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextlib.contextmanager
def busy_host(is_busy):
    """If `is_busy`, starts busy loops until two processes compete for each CPU of this host."""
    missing = 2 * (os.cpu_count() or 1) - int(os.getloadavg()[0]) if is_busy else 0
    loops = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(missing)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def counted_twice(runs, workloads, cpus):
    """The labels of both runs."""
    options = ["--tasks", cpus, "--ops", OPERATIONS]
    first = runs.kernel(f"repeats at {cpus} CPUs, first", [*workloads, *options])
    with busy_host(cpus == BUSY_CPUS):
        second = runs.kernel(f"repeats at {cpus} CPUs, second", [*workloads, *options])
    return first, second


def answers(runs, first, second):
    """By workload: true if both counts are identical, and transfers per operation of the first."""
    points = {workload: transfers(point) for (workload, _), point in runs.points(first).items()}
    # Cells without a count on either side are not compared.
    compared = {f"{cell['workload']}:{cell['variant']}": is_identical(cell) for cell in runs.compared(first, second)}
    return {workload: (compared.get(workload), count) for workload, count in points.items()}


def is_identical(cell):
    """True if identical; None if one side was not counted."""
    pairs = cell["basis"].get("pairs")
    return all(pair["identical"] for pair in pairs) if pairs else None


def cell_text(answer):
    identical, count = answer
    word = {True: "identical", False: "DIFFERENT", None: "not counted twice"}[identical]
    return f"{word}, {figure(count)}"


def main():
    runs = Runs(*sys.argv[1:3])
    workloads = runs.workloads()
    columns = {cpus: answers(runs, *counted_twice(runs, workloads, cpus)) for cpus in sys.argv[3:] or CPUS}
    print("| transfers per operation, two boots with seed 1 | " + " | ".join(f"{cpus} CPUs" for cpus in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for workload in workloads:
        cells = [column.get(workload, (None, None)) for column in columns.values()]
        print(f"| `{workload}` | " + " | ".join(map(cell_text, cells)) + " |")
    every = [identical for column in columns.values() for identical, _ in column.values()]
    print(f"\n{every.count(True)} of {len(workloads) * len(columns)} pairs are identical, {every.count(False)} differ")
    sys.exit(0 if every.count(True) == len(workloads) * len(columns) else 1)


if __name__ == "__main__":
    main()
