"""Lens runs for benchmarks. A run is kept in a database under a label. An existing one is not
repeated, because it would count the same; an interrupted one continues.
"""

import json
import subprocess
import sys

# Time limit of one run: machines of 64 CPUs take minutes each.
LIMIT_S = 12 * 3600
# Exit status of a run with a failed execution. Its other counts are kept.
FAILED = 1


class Runs:
    """The runs in a database, made by the command `faultline`."""

    def __init__(self, faultline, database):
        self.command = [faultline, "--db", database]
        self.database = database

    def kernel(self, label, words):
        """Runs `faultline lens kernel` with these arguments, unless the run with that label is
        finished. Returns the label.
        """
        state = self.state(label)
        if state is None:
            self.make(["lens", "kernel", *words, "--label", label, "--quiet"])
        elif state != "finished":
            self.make(["resume", label, "--quiet"])
        if self.state(label) != "finished":
            sys.exit(f"{label}: it did not come to its end; start this again, and it goes on")
        return label

    def state(self, label):
        """State of the run with this label; None if there is none."""
        try:
            open(self.database, "rb").close()
        except FileNotFoundError:
            return None
        runs = json.loads(self.output(["list", "--format", "json"]))
        return next((run["state"] for run in runs if run["label"] == label), None)

    def points(self, label):
        """Figures of a run, by workload (`name:variant`) and number of CPUs."""
        summary = json.loads(self.output(["show", label, "--format", "json"]))
        return {
            (f"{curve['workload']}:{curve['variant']}", point["cpus"]): point for curve in summary["lens"]["curves"] for point in curve["points"]
        }

    def facts(self, label):
        """Recorded facts of the machine of a run."""
        return json.loads(self.output(["check", "--facts", label, "--format", "json"]))

    def compared(self, before, after):
        """The cells of `faultline lens compare`."""
        return json.loads(self.output(["lens", "compare", before, after, "--format", "json"]))["cells"]

    def types(self, label, cpus):
        """The cells of `faultline lens types`, with all types."""
        return json.loads(self.output(["lens", "types", label, "--tasks", str(cpus), "--format", "json"]))["cells"]

    def workloads(self):
        """All workloads that can be counted, as `name:variant`: those that loop and are supported
        in a guest, which has no compiler and no dynamic loader. One small run finds the
        supported ones.
        """
        known = json.loads(self.output(["run", "--list", "--format", "json"]))
        names = [workload["name"] for workload in known if workload["style"] == "loop"]
        points = self.points(self.kernel("what guests support", [*names, "--tasks", "1", "--ops", "1"]))
        return [name for (name, _), point in points.items() if not is_unsupported(point)]

    def make(self, words):
        done = subprocess.run([*self.command, *words], stdout=subprocess.DEVNULL, timeout=LIMIT_S)
        if done.returncode not in (0, FAILED):
            sys.exit(f"{' '.join(words)}: exit status {done.returncode}")

    def output(self, words):
        done = subprocess.run([*self.command, *words], stdout=subprocess.PIPE, text=True, timeout=LIMIT_S)
        if done.returncode not in (0, FAILED):
            sys.exit(f"{' '.join(words)}: exit status {done.returncode}")
        return done.stdout


def is_unsupported(point):
    """True if the guest does not support the workload."""
    return any(failure.get("outcome", {}).get("kind") == "unsupported" for failure in point["failures"])


def transfers(point):
    """Transfers per operation; None if nothing was counted."""
    estimate = point and point["transfers"]
    return estimate["median"] if estimate else None


def figure(value):
    """With three significant digits, as in tables."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:#.3g}".rstrip(".") if value >= 0.001 else f"{value:.4f}"
    return "0" if float(text) == 0 else text
