#!/usr/bin/env python3
"""Counts transfers, instructions and predicted rate of every workload under several kernels.

Usage: figures.py FAULTLINE DATABASE OUTPUT [--only NAME:VARIANT,…] [--cpus N,…] RELEASE=IMAGE…

FAULTLINE is the built command, each IMAGE a kernel (see packages/kernels.sh), RELEASE its name. A
workload runs as threads of one process if it can, otherwise as processes. Workloads that guests do
not support are left out. DATABASE keeps the runs: existing ones are not repeated, an interrupted
one continues. OUTPUT gets the figures as JSON for `draw.py`; `made_with` in it has the versions of
the tools and the digests of workloads and kernels. `--only` selects workloads, `--cpus` numbers of
CPUs. One seed; each workload at each number of CPUs is a boot of 5 to 60 s of CPU time.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/lens"))

from counting import Runs  # noqa: E402

SEED = 1
FIGURES = ("transfers", "instructions", "rate")
# Facts of a run (docs/FORMATS.md, §4): the same for all kernels, and of each kernel.
OF_ALL, OF_KERNEL = ("faultline.version", "emulator.version"), ("kernel.release", "kernel.image_sha256")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faultline")
    parser.add_argument("database")
    parser.add_argument("output", type=Path)
    parser.add_argument("kernels", metavar="RELEASE=IMAGE", nargs="+")
    parser.add_argument("--only", default="", help="workloads, as NAME:VARIANT,…; all that guests support by default")
    parser.add_argument("--cpus", default="1,8,16", help="numbers of CPUs (default: 1,8,16)")
    asked = parser.parse_args()
    wrong = [kernel for kernel in asked.kernels if "=" not in kernel]
    if wrong:
        parser.error(f"'{wrong[0]}' is no RELEASE=IMAGE; hint: `6.1=target/kernels/bookworm/vmlinuz`")
    missing = [image for _, image in kernels(asked) if not Path(image).is_file()]
    if missing:
        parser.error(f"there is no kernel {missing[0]}; hint: `make kernels` unpacks some into target/kernels")
    if not all(number.isdigit() and int(number) > 0 for number in asked.cpus.split(",")):
        parser.error(f"'{asked.cpus}' are no numbers of CPUs; hint: `--cpus 1,8,16`")
    return parser, asked


def kernels(asked):
    return [kernel.split("=", 1) for kernel in asked.kernels]


def modes(runs):
    """Mode of each workload's tasks (`name:variant`): threads or processes."""
    known = json.loads(runs.output(["run", "--list", "--format", "json"]))
    variants = ((workload["name"], variant) for workload in known for variant in workload["variants"])
    return {f"{name}:{variant['name']}": "thread" if "thread" in variant["modes"] else "process" for name, variant in variants}


def counted(runs, release, image, names, mode, cpus, made_with):
    """The points of a kernel's run of these workloads. Adds the run's tools and digests to
    `made_with`."""
    if not names:
        return {}
    # The names are part of the label, so a run of fewer workloads is not taken for one of all.
    label = f"{release}, {mode}, {cpus}, {' '.join(names)}"
    words = [*names, "--mode", mode, "--tasks", cpus, "--seed", str(SEED), "--kernel", image]
    facts = runs.facts(runs.kernel(label, words))
    builds = [f"workload.{name.split(':')[0]}.sha256" for name in names]
    made_with |= {key: facts[key] for key in [*OF_ALL, *builds] if key in facts}
    made_with.setdefault("kernels", {})[release] = {key: facts[key] for key in OF_KERNEL if key in facts}
    return runs.points(label)


def figures(point):
    """The three figures; None for a missing one."""
    return {name: point[name]["median"] if point[name] else None for name in FIGURES}


def text(found):
    """JSON with a line for each workload."""
    workloads = ",\n".join(f"  {json.dumps(name)}: {json.dumps(of_it, sort_keys=True)}" for name, of_it in sorted(found["workloads"].items()))
    others = json.dumps({name: value for name, value in found.items() if name != "workloads"}, indent=1, sort_keys=True)
    return others.removesuffix("\n}") + ',\n "workloads": {\n' + workloads + "\n }\n}\n"


def main():
    parser, asked = arguments()
    runs = Runs(asked.faultline, asked.database)
    mode_of = modes(runs)
    names = asked.only.split(",") if asked.only else runs.workloads()
    unknown = [name for name in names if name not in mode_of]
    if unknown:
        parser.error(f"there is no workload {unknown[0]}; hint: `faultline run --list` lists them, as NAME:VARIANT")
    found = {"seed": SEED, "cpus": [int(number) for number in asked.cpus.split(",")], "releases": [], "workloads": {}}
    found["made_with"] = {}
    for release, image in kernels(asked):
        points = {}
        for mode in ("thread", "process"):
            points |= counted(runs, release, image, [name for name in names if mode_of[name] == mode], mode, asked.cpus, found["made_with"])
        found["releases"].append(release)
        for (name, cpus), point in points.items():
            of_workload = found["workloads"].setdefault(name, {"mode": mode_of[name], "figures": {}})
            of_workload["figures"].setdefault(release, {})[str(cpus)] = figures(point)
        asked.output.write_text(text(found), encoding="utf-8")


if __name__ == "__main__":
    main()
