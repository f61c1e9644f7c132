"""Hardware measurements: time per operation of programs and workloads, at each number of tasks, at
the distance of the calibration.
"""

import json
import statistics
import subprocess
import time

# Approximate duration of a measurement of a program, short enough that other work rarely interrupts
# it.
SHORT_NS = 300_000
MOST_TURNS = 1 << 22
REPEATS = 41
# Fewest repeats of a measured case.
LEAST_REPEATS = 11
LIMIT_S = 60
# Time limit, in seconds, for repeating a program while the CPUs are at another distance, or other
# work interrupts it.
PATIENCE_S = 60
# Maximum number of measurements of a workload until the distance is right before and after.
TRIES = 5


def once(program, kind, tasks, turns):
    """Nanoseconds and preemptions of one run of a program."""
    words = [program, kind, str(tasks), str(turns)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True)
    nanoseconds, preempted = map(int, done.stdout.split())
    return nanoseconds, preempted


def turns_for(program, kind, tasks):
    """Turns per task for the intended duration. A multiple of eight, because items are passed in
    groups of eight.
    """
    turns = 512
    while turns < MOST_TURNS:
        nanoseconds = statistics.median(once(program, kind, tasks, turns)[0] for _ in range(3))
        if nanoseconds >= SHORT_NS / 2:
            break
        turns *= 2
    return turns


def summary(values):
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return {"median_ns": median, "low_ns": low, "high_ns": high, "n": len(values)}


def of_program(program, kind, numbers, distance):
    """Time per operation by number of tasks, and the speed-ups. Each repeat runs all numbers of
    tasks in succession, so that other work on the machine affects all equally. A run with a
    preempted task is left out, because it would measure the scheduler. So is a repeat at another
    distance than the calibration's.
    """
    turns = {tasks: turns_for(program, kind, tasks) for tasks in numbers}
    times = {tasks: [] for tasks in numbers}
    left_out = {"preempted": 0, "elsewhere": 0}
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and min(map(len, times.values())) < REPEATS:
        was_right = distance.is_calibrated()
        runs = {tasks: once(program, kind, tasks, turns[tasks]) for tasks in numbers}
        if not (was_right and distance.is_calibrated()):
            left_out["elsewhere"] += 1
            continue
        for tasks, (nanoseconds, preemptions) in runs.items():
            if preemptions:
                left_out["preempted"] += 1
            else:
                times[tasks].append(nanoseconds / (tasks * turns[tasks]))
    result = {tasks: summary(values) for tasks, values in times.items() if len(values) >= LEAST_REPEATS}
    return {"name": kind, "of": "program", "left_out": left_out, "measured": with_speedups(result)}


def of_workload(call, case, numbers, distance):
    """Time per operation and speed-ups of a workload, by `faultline run`, which randomises the
    order.
    """
    words = ["run", case, "--tasks", ",".join(map(str, numbers)), "--repeats", "6", "--warmup", "50ms", "--window", "200ms"]
    for tried in range(TRIES):
        was_right = distance.is_calibrated()
        curves = json.loads(call([*words, "--interval", "50ms", "--quiet", "--format", "json"]))["curves"]
        if was_right and distance.is_calibrated():
            return {**of_curve(curves[0]), "left_out": {"elsewhere": tried}}
    return {"name": case, "of": "workload", "left_out": {"elsewhere": TRIES}, "measured": {}}


def of_curve(curve):
    """Times per operation, from rates with their intervals."""
    result = {}
    for point in curve["points"]:
        rate = point.get("value")
        if rate and rate["median"] > 0:
            low, median, high = (1e9 / rate[key] for key in ("high", "median", "low"))
            result[point["tasks"]] = {"median_ns": median, "low_ns": low, "high_ns": high, "n": rate["n"]}
    name = f"{curve['workload']}:{curve['variant']}"
    if curve["direction"] != "higher":
        raise ValueError(f"{name}: not a rate")
    return {"name": name, "of": "workload", "measured": with_speedups(result)}


def with_speedups(result):
    base = result.get(1)
    for times in result.values():
        times["speedup"] = base["median_ns"] / times["median_ns"] if base else None
    return result
