"""Predictions of the lens beside the hardware: programs and workloads on 1 … this machine's CPUs,
measured and predicted in one run.

Usage: truth.py FAULTLINE PROGRAM DIRECTORY [KIND…]

FAULTLINE is the built command, PROGRAM the built `truth`. DIRECTORY keeps the database of the
runs, rows.json with all measurements and predictions so far, and truth.json. Started again, it
measures and predicts only what is missing; the costs stay those of the first start. KINDs select
programs (or `workloads`); by default all are measured. Prints a table for the costs measured on
this machine and one for a preset, and the scores. Exits with 1 if a goal is missed with measured
costs.
"""

import json
import os
import subprocess
import sys

import distance
import hardware
import kept
import predictions
import scores

# Kinds in programs/*.c, and those of the theory.
PROGRAMS = [
    *("shared", "padded", "beside", "mostly_read", "rcu", "cas_counter", "plain_beside", "spread", "statistics", "seqlock"),
    *("ticket", "mcs", "guarded", "test_and_set", "pthread_spin", "spin_long", "spin_rare"),
    *("futex_mutex", "mutex_long", "mutex_rare", "mutex_own", "rwlock", "rwlock_mixed", "queue"),
    *("turn_condition", "turn_semaphores", "turn_pipes", "turn_barrier", "turn_spinning"),
    *("spsc", "batches", "many", "deque", "stealing"),
    *("compute", "copy", "allocate", "hand_over", "getppid", "read_file", "new_pages"),
]
# Workloads that start compilers, which a guest does not have, or need a command.
NOT_COUNTED = ("compile", "tree_build", "program")
COSTS = {"measured": ["--costs", "measured"], "laptop": ["--costs", "laptop"]}


def numbers_of_cpus():
    """1, 2, 4 … and all CPUs."""
    most = len(os.sched_getaffinity(0))
    return sorted({min(2**power, most) for power in range(most.bit_length() + 1)})


def cases(call):
    """Every variant of the workloads that a guest can run."""
    listed = json.loads(call(["run", "--list", "--format", "json"]))
    counted = [one for one in listed if one["name"] not in NOT_COUNTED]
    return [f"{one['name']}:{variant['name']}" for one in counted for variant in one["variants"]]


def said(text):
    print(text, file=sys.stderr, flush=True)


def calibrated(call):
    """The table of a calibration; None if the command refused to save it."""
    try:
        return call(["lens", "calibrate"])
    except RuntimeError as refused:
        said(refused)
        return None


def measure(call, program, chosen, workloads, numbers, rows):
    """Adds a row for each case without one."""
    todo = [(hardware.of_program, program, kind) for kind in chosen] + [(hardware.of_workload, call, case) for case in workloads]
    todo = [case for case in todo if case[2] not in rows.names()]
    if not todo:
        return
    apart = distance.Distance(lambda kind, tasks, turns: hardware.once(program, kind, tasks, turns))
    if rows.hand_over_ns is None:
        print(apart.calibrate(lambda: calibrated(call)), end="")
        rows.set_hand_over(apart.hand_over_ns)
    apart.hand_over_ns = rows.hand_over_ns
    said(f"hand-overs take {apart.hand_over_ns:.3g} ns")
    for measure_one, by, name in todo:
        said(f"measuring {name}")
        rows.add(measure_one(by, name, numbers, apart))


def has_speedups(row, numbers):
    """True if a case was measured at all numbers of tasks, at the distance of the calibration."""
    return all(tasks in row["measured"] for tasks in numbers)


def predict(call, program, rows, asked, numbers):
    """Adds the missing predictions to all measured rows."""
    for name, costs in COSTS.items():
        todo = [row for row in asked if has_speedups(row, numbers) and name not in row["predicted"]]
        workloads = [row["name"] for row in todo if row["of"] == "workload"]
        by_case = {}
        if workloads:
            said(f"predicting workloads with the costs {name}")
            by_case = predictions.of_workloads(call, workloads, numbers, costs)
        for row in todo:
            if row["of"] == "program":
                said(f"predicting {row['name']} with the costs {name}")
                by_case[row["name"]] = predictions.of_program(call, program, row, numbers, costs)
            row["predicted"][name] = by_case.get(row["name"], {})
            rows.save()


def compared(rows, costs):
    """One row for each case at each number of tasks above 1."""
    result = []
    for row in rows:
        for tasks, times in row["measured"].items():
            predicted = row["predicted"][costs].get(tasks)
            if tasks > 1 and times["speedup"] is not None and predicted is not None:
                point = {"name": row["name"], "tasks": tasks, "measured": times["speedup"], "times": times}
                result.append({**point, "predicted": predicted["speedup"], "withheld": predicted["withheld"], "transfers": predicted["transfers"], "range": predicted.get("range")})
    return sorted(result, key=lambda row: (row["tasks"], row["measured"]))


def show(costs, table):
    print(f"\n## costs: {costs}\n")
    print("| program or workload | tasks | ns per operation (quartiles) | transfers | speed-up measured | predicted | |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for row in table:
        times = row["times"]
        spread = f"{times['median_ns']:.3g} ({times['low_ns']:.3g} … {times['high_ns']:.3g})"
        predicted, remark = "–", f"withheld: {row['withheld']}"
        if row["predicted"] is not None:
            predicted, remark = f"{row['predicted']:.3g}", ""
            if row["range"]:
                predicted += f" ({row['range'][0]:.3g} … {row['range'][1]:.3g})"
            if scores.ratio(row["measured"], row["predicted"]) > scores.NEAR:
                remark = "not within 2×"
            if scores.is_on_wrong_side(row["measured"], row["predicted"]):
                remark = "wrong side"
        transfers = "–" if row["transfers"] is None else f"{row['transfers']:.3g}"
        print(f"| `{row['name']}` | {row['tasks']} | {spread} | {transfers} | {row['measured']:.3g} | {predicted} | {remark} |")


def concluded(costs, table, unmeasured):
    score = {**scores.scores(table), "unmeasured": unmeasured}
    missed = scores.misses(score)
    given = score["cases"] - score["withheld"]
    print(f"\ncosts {costs}: {given} of {score['cases']} predicted, {score['withheld']} withheld; Spearman {score['spearman']:.2f}; ", end="")
    print(f"{score['wrong_side']} on the wrong side of 1 by more than 20 %; {score['near']} of {given} within 2×; ", end="")
    print(f"{score['within']} of {score['ranges']} within the predicted interval")
    for words in missed:
        print(f"  missed: {words}")
    return {**score, "missed": missed}


def main():
    faultline, program, directory, *chosen = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    call = predictions.caller(faultline, os.path.join(directory, "runs.sqlite"))
    numbers = numbers_of_cpus()
    if numbers == [1]:
        sys.exit("one CPU: nothing can be compared")
    workloads = cases(call) if not chosen or "workloads" in chosen else []
    kinds = [kind for kind in PROGRAMS if not chosen or kind in chosen]
    rows = kept.Rows(os.path.join(directory, "rows.json"))
    measure(call, program, kinds, workloads, numbers, rows)
    asked = [row for row in rows.all() if row["name"] in (*kinds, *workloads)]
    predict(call, program, rows, asked, numbers)
    unmeasured = [row["name"] for row in asked if not has_speedups(row, numbers)]
    if unmeasured:
        print(f"\nnot measured, because the CPUs were at another distance or other work interrupted: {', '.join(unmeasured)}")
    machine = subprocess.run(["lscpu"], stdout=subprocess.PIPE, text=True, check=False).stdout
    result = {"hand_over_ns": rows.hand_over_ns, "unmeasured": unmeasured, "machine": machine, "rows": asked, "scores": {}}
    for costs in COSTS:
        table = compared([row for row in asked if has_speedups(row, numbers)], costs)
        show(costs, table)
        result["scores"][costs] = concluded(costs, table, len(unmeasured) * (len(numbers) - 1))
    with open(os.path.join(directory, "truth.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    sys.exit(1 if result["scores"]["measured"]["missed"] else 0)


if __name__ == "__main__":
    main()
