"""The lens's predictions: rates of the same programs and workloads, or the reason why there is
none.
"""

import json
import subprocess

# Approximate duration of a single task, as measured. Waking a thread takes up to 25 µs, and must
# not matter.
LONG_NS = 1_500_000
# Turns of each task. Kinds that sleep take longer under the lens.
LEAST_TURNS, MOST_TURNS = 2000, 1 << 20
LIMIT = "10m"


def turns_for(row):
    """Turns per task for the intended duration. A multiple of eight, because items are passed in
    groups of eight.
    """
    turns = min(max(LEAST_TURNS, LONG_NS / row["measured"][1]["median_ns"]), MOST_TURNS)
    return -(-int(turns) // 8) * 8


def of_program(call, program, row, numbers, costs):
    turns = str(turns_for(row))
    words = ["lens", "program", "--predict", "--tasks", ",".join(map(str, numbers)), "--ops", turns, "--limit", LIMIT]
    return curves(call, [*words, *costs], ["--", program, row["name"], "{tasks}", turns])[0]


def of_workloads(call, cases, numbers, costs):
    words = ["lens", "kernel", "--predict", *cases, "--tasks", ",".join(map(str, numbers))]
    return {f"{curve['workload']}:{curve['variant']}": points(curve) for curve in raw_curves(call, [*words, *costs], [])}


def curves(call, options, command):
    return [points(curve) for curve in raw_curves(call, options, command)]


def raw_curves(call, options, command):
    return json.loads(call([*options, "--quiet", "--format", "json", *command]))["lens"]["curves"]


def points(curve):
    """By number of tasks: the predicted speed-up and its range, or the reason why there is none."""
    result = {}
    for point in curve["points"]:
        why = (point.get("withheld") or {}).get("kind", "no rate for one CPU") if point["speedup"] is None else None
        span = point.get("speedup_range")
        span = [span["low"], span["high"]] if span else None
        result[point["cpus"]] = {"speedup": point["speedup"], "range": span, "transfers": (point["transfers"] or {}).get("median"), "withheld": why}
    return result


def caller(faultline, database):
    """Calls the command with one database. Returns its output; for a run with a failed cell, the
    other results.
    """

    def call(words):
        done = subprocess.run([faultline, "--db", database, *words], stdout=subprocess.PIPE, text=True, timeout=4 * 3600)
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(f"{' '.join(words)}: exit status {done.returncode}")
        return done.stdout

    return call
