"""Does a machine under the lens repeat itself exactly? Counts every workload twice with the same seed at 8, 64 and 32 CPUs.

Usage: repeats.py FAULTLINE DATABASE [CPUS…]
FAULTLINE is the built command. DATABASE keeps the runs: those that it has are not made again, and one that was interrupted goes on. At 8 CPUs
every CPU of this host is busy twice over during the second run. Prints a table. Ends with 1 if two counts differ, or if an execution failed.

Two counts are identical if everything that was saved of them is the same: each line that moved with its name, the CPUs that fetched it and the code, the
transfers of each member of each type, all totals and clocks.
"""

import contextlib
import os
import subprocess
import sys

from counting import Runs, figure, transfers

CPUS = ("8", "64", "32")
# Of each task. Most of a run's time is spent in boots.
OPERATIONS = "16"
BUSY_CPUS = "8"
# A busy loop that ends with whoever started it.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextlib.contextmanager
def busy_host(is_busy):
    """If wanted, as many busy loops as it takes for two processes to want each CPU of this host all the time."""
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
    options = ["--cpus", cpus, "--ops", OPERATIONS]
    first = runs.kernel(f"repeats at {cpus} CPUs, first", [*workloads, *options])
    with busy_host(cpus == BUSY_CPUS):
        second = runs.kernel(f"repeats at {cpus} CPUs, second", [*workloads, *options])
    return first, second


def answers(runs, first, second):
    """By workload: whether both counts are identical, and transfers per operation of the first."""
    points = {workload: transfers(point) for (workload, _), point in runs.points(first).items()}
    # Cells of which either side has no count are not compared.
    compared = {f"{cell['workload']}:{cell['variant']}": is_identical(cell) for cell in runs.compared(first, second)}
    return {workload: (compared.get(workload), count) for workload, count in points.items()}


def is_identical(cell):
    """None if one side was not counted."""
    pairs = cell["basis"].get("pairs")
    return all(pair["identical"] for pair in pairs) if pairs else None


def told(answer):
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
        print(f"| `{workload}` | " + " | ".join(map(told, cells)) + " |")
    every = [identical for column in columns.values() for identical, _ in column.values()]
    print(f"\n{every.count(True)} of {len(workloads) * len(columns)} pairs are identical, {every.count(False)} differ")
    sys.exit(0 if every.count(True) == len(workloads) * len(columns) else 1)


if __name__ == "__main__":
    main()
