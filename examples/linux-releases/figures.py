#!/usr/bin/env python3
"""Counts every workload under several kernels: transfers, instructions and predicted rate per operation by release, at 1, 8 and 16 CPUs.

Usage: figures.py FAULTLINE DATABASE OUTPUT [--only NAME:VARIANT,…] [--cpus N,…] RELEASE=IMAGE…

FAULTLINE is the built command; each IMAGE a kernel (packages/kernels.sh unpacks the distribution's), RELEASE its name. A workload runs as threads of one
process if it can, otherwise as processes. What guests do not support is left out: a compiler, a dynamic loader. DATABASE keeps the runs: those that it has are not
made again, and one that was interrupted goes on. OUTPUT gets the figures as JSON, which `draw.py` makes the table and the picture of; `made_with` in it has the
versions of what counted, and the digests of the workloads' builds and of the kernels, as the runs recorded them. `--only` takes some of the
workloads, `--cpus` other numbers of CPUs. With one seed; a boot takes 5 to 60 s of CPU time, and each workload at each number of CPUs is one.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab/faultline/benches/lens"))

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
    """Of each workload (`name:variant`), whether its tasks are threads or processes."""
    known = json.loads(runs.told(["workloads", "--format", "json"]))
    variants = ((workload["name"], variant) for workload in known for variant in workload["variants"])
    return {f"{name}:{variant['name']}": "thread" if "thread" in variant["modes"] else "process" for name, variant in variants}


def counted(runs, release, image, names, mode, cpus, made_with):
    """The points of a kernel's run of these workloads; none of no workloads. Adds to `made_with` what the run recorded of what counted."""
    if not names:
        return {}
    # The names are part of the label, so a run of fewer workloads is not taken for one of all.
    label = f"{release}, {mode}, {cpus}, {' '.join(names)}"
    words = [*names, "--mode", mode, "--cpus", cpus, "--seed", str(SEED), "--kernel", image]
    facts = runs.facts(runs.kernel(label, words))
    builds = [f"workload.{name.split(':')[0]}.sha256" for name in names]
    made_with |= {key: facts[key] for key in [*OF_ALL, *builds] if key in facts}
    made_with.setdefault("kernels", {})[release] = {key: facts[key] for key in OF_KERNEL if key in facts}
    return runs.points(label)


def figures(point):
    """The three figures; None of one that there is not."""
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
        parser.error(f"there is no workload {unknown[0]}; hint: `faultline workloads` lists them, as NAME:VARIANT")
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
