"""CPU time of the emulator for machines of 8 CPUs: by plain translation, without the plugin and its
count of instructions; under the lens in the distribution's emulator; and in our own
(`lens/emulator`).

Usage: emulators.py FAULTLINE THEIRS OWN [REPEATS [CASE…]]

THEIRS and OWN are the emulators' programs. All run the same machine from the same seed, one after
the other, REPEATS times (3). CPU time is that of the emulator's process with all its threads, from
its start to the region of interest (boot), and within the region. Prints medians and ranges. CASE:
the beginning of a name in CASES; all otherwise.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CPUS = 8
SOURCE = Path(__file__).with_name("contended.c")

# Case: words of the command, and operations of all tasks.
CASES = {
    "zero_fill:base, per page": (["kernel", "zero_fill:base", "--ops", "8192"], 8 * 8192),
    "fault_existing:shared, per page": (["kernel", "fault_existing:shared", "--ops", "8192"], 8 * 8192),
    "counter of all threads, per operation": (["program", "--ops", "20000", "--", "{program}", "counter"], 8 * 20000),
    "mutex of all threads, per operation": (["program", "--ops", "5000", "--", "{program}", "mutex"], 8 * 5000),
}

# Starts the emulator, and notes its CPU time at each line of the agent.
WRAPPER = """#!/usr/bin/env python3
import json, os, re, subprocess, sys
emulator, plain, kept = {emulator!r}, {plain!r}, {kept!r}
words = sys.argv[1:]
counts = any("output=" in word for word in words)
if not counts:
    os.execv(emulator, [emulator, *words])
if plain:
    for option in ("-plugin", "-icount"):
        at = words.index(option)
        del words[at:at + 2]
process = subprocess.Popen([emulator, *words], stdout=subprocess.PIPE, close_fds=False)
def cpu():
    fields = open(f"/proc/{{process.pid}}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
begin = end = None
for line in process.stdout:
    if re.match(rb"program |out \\d+ begin ", line):
        begin = cpu()
    elif end is None and begin is not None and re.match(rb"out \\d+ usage window|exit ", line):
        end = cpu()
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
status = process.wait()
open(kept, "w").write(json.dumps([begin, end]))
sys.exit(status)
"""


def measured(faultline, place, words, emulator, plain):
    """CPU seconds of boot and region, and transfers of each operation if it was counted."""
    wrapper, kept = place / "emulator", place / "times"
    kept.unlink(missing_ok=True)
    wrapper.write_text(WRAPPER.format(emulator=os.path.abspath(emulator), plain=plain, kept=str(kept)), encoding="utf-8")
    wrapper.chmod(0o755)
    command = [faultline, "lens", words[0], "--tasks", str(CPUS), "--quiet", "--format", "json", "--db", place / "runs.sqlite", "--qemu", wrapper]
    done = subprocess.run([*command, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Without the plugin there is no report, so the run fails after the machine has ended.
    if not kept.exists() or not plain and done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    begin, end = json.loads(kept.read_text())
    points = [] if plain else [point for curve in json.loads(done.stdout)["lens"]["curves"] for point in curve["points"]]
    return begin, end - begin, points[0]["transfers"]["median"] if points else None


def spread(values, scale=1.0):
    """Median and range."""
    scaled = sorted(value * scale for value in values)
    return f"{statistics.median(scaled):8.2f} ({scaled[0]:.2f} … {scaled[-1]:.2f})"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    faultline, theirs, own = sys.argv[1:4]
    repeats = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    wanted = tuple(sys.argv[5:]) or ("",)
    sides = {"plain translation": (theirs, True), "the distribution's": (theirs, False), "our own": (own, False)}
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        program = place / "contended"
        subprocess.run(["cc", "-O2", "-static", "-pthread", "-o", program, SOURCE], check=True)
        for case, (words, operations) in CASES.items():
            if not case.startswith(wanted):
                continue
            words = [word.format(program=program) for word in words]
            taken = {name: [] for name in sides}
            for _ in range(repeats):
                for name, (emulator, plain) in sides.items():
                    taken[name].append(measured(faultline, place, words, emulator, plain))
            print(f"{case}: {repeats} repeats, CPU time", flush=True)
            base = statistics.median(region for _, region, _ in taken["plain translation"])
            for name, runs in taken.items():
                boots, regions, transfers = zip(*runs)
                ratio = statistics.median(regions) / base if base else float("nan")
                line = f"  {name:20} boot {spread(boots)} s, region {spread(regions, 1e6 / operations)} µs, {ratio:5.1f} times"
                if transfers[0]:
                    line += f", {statistics.median(regions) * 1e6 / operations / transfers[0]:.2f} µs per transfer"
                print(line, flush=True)


if __name__ == "__main__":
    main()
