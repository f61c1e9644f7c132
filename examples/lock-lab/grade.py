#!/usr/bin/env python3
"""Grades a submission: grade.py [FILE] (default: lab.c).

For pages and for buffers: 20 points for correct code, and 30 for code that scales, by the cache
lines that move between four CPUs per operation. Code that is not correct is not counted.

The grade follows from the file and the compiler alone. The check runs its threads in orders that
follow from seeds, and the counted machine is emulated and has its own time. So neither the host's
load nor its CPUs matter. FAULTLINE names the command, CC the compiler.
"""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

CORRECT, SCALES = 20, 30

# Upper bounds of transfers per operation for all points, and for half of them. The given code
# moves 1.04 lines for a page and 6.1 for a buffer.
LIMITS = {"pages": (0.05, 0.5), "buffers": (0.05, 2.0)}

OPERATIONS, CPUS = 500, 4

# Limits of the check in seconds of CPU time, and of the machine. A correct submission takes less
# than a second of each.
CHECK_CPU_S, MACHINE_LIMIT = 60, "5m"

# Time limit of every child in seconds, for a submission that sleeps or includes an endless file.
# Much longer than anything takes on a busy host, because a grade must not depend on its load.
CHILD_S = 900

# The instructions between which the machine is counted (workloads/harness/faultline_mark.h).
MARKS = [bytes([0x0f, 0x1f, 0x80, number, 0x41, 0x46, 0x00]) for number in (1, 2)]

# Functions of the C library that compilers call, and whose accesses the check has to see.
OF_LIBRARY = ("memcpy", "memmove", "memset", "memcmp")

FOR_MACHINE = ["-m32", "-march=i686", "-O2", "-g", "-ffreestanding", "-fno-pic", "-fno-stack-protector", "-no-pie",
               "-nostdlib", "-static", f"-DOPERATIONS={OPERATIONS}", "-Wl,--build-id=none", "-Wl,-z,noexecstack"]


class Wrong(Exception):
    """A reason for no points."""


def command(words, **options):
    """Runs a command without input. Kills it with its children at the time limit."""
    words = [str(word) for word in words]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", start_new_session=True, **options) as process:
        try:
            output, errors = process.communicate(timeout=CHILD_S)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def compiled(words, **options):
    try:
        result = command([os.environ.get("CC", "cc"), "-std=gnu11", *words], **options)
    except subprocess.TimeoutExpired:
        raise Wrong("the compiler does not end") from None
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if re.search("error|undefined reference", line)] or result.stderr.splitlines()
        raise Wrong(f"it does not compile: {errors[0] if errors else 'the compiler failed'}")


def marks_in(file):
    return sum(file.read_bytes().count(mark) for mark in MARKS)


def build(source, directory):
    """Builds the check and the kernel."""
    include = ["-I", HERE]
    lab = directory / "checked.o"
    compiled(["-O1", "-g", "-fno-pic", "-fsanitize=thread", *include, "-c", "-o", lab, source])
    renamed = [f"--redefine-sym={name}=__tsan_{name}" for name in OF_LIBRARY]
    if not shutil.which("objcopy") or command(["objcopy", *renamed, lab]).returncode != 0:
        sys.exit("grade.py: objcopy failed; hint: apt-get install binutils")
    check = [HERE / "check" / name for name in ("main.c", "schedule.c")]
    compiled(["-O2", "-no-pie", *include, "-I", HERE / "check", "-o", directory / "check", lab, *check])
    machine = HERE / "machine"
    include += ["-I", machine, "-I", ROOT / "workloads/harness"]
    sources = [machine / "start.S", machine / "machine.c", HERE / "kernel.c", source]
    compiled([*FOR_MACHINE, *include, "-c", *sources], cwd=directory)
    objects = [directory / f"{Path(name).stem}.o" for name in sources]
    kernel = directory / "lab.elf"
    compiled([*FOR_MACHINE, f"-Wl,-T,{machine / 'link.ld'}", "-o", kernel, *objects])
    # A mark of its own would end the count before the work.
    if marks_in(kernel) != marks_in(directory / "kernel.o"):
        raise Wrong("it has the bytes of a region mark, which only the grader may execute")


def place(program, address):
    """The function and the line of code at a return address."""
    at = hex(int(address, 16) - 1)
    lines = command(["addr2line", "-f", "-s", "-e", program, at]).stdout.split()
    return f"{lines[0]} ({lines[1]})" if len(lines) >= 2 else address


def check(directory, part):
    """Raises the first mistake that the check finds."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (CHECK_CPU_S, CHECK_CPU_S))
    program = directory / "check"
    try:
        result = command([program, part], preexec_fn=limit)
    except subprocess.TimeoutExpired:
        raise Wrong("it does not end") from None
    if result.returncode == 1:
        raise Wrong(re.sub(r"0x[0-9a-f]+", lambda found: place(program, found[0]), result.stdout.strip()))
    if result.returncode != 0:
        raise Wrong("it crashes" if result.returncode != -9 else "it does not end")
    if result.stdout != "correct\n":
        raise Wrong("it prints, or ends the check itself")


def count(directory, part):
    """Transfers per operation, and the lines that move most."""
    kernel = directory / "lab.elf"
    words = ["lens", "machine", "--quiet", "--db", directory / "runs.sqlite", "--kernel", kernel, "--symbols", kernel,
             "--tasks", CPUS, "--ops", OPERATIONS, "--memory", 256, "--limit", MACHINE_LIMIT, "--append", part,
             "--format", "json"]
    try:
        result = command([faultline(), *words])
    except subprocess.TimeoutExpired:
        sys.exit(f"grade.py: {faultline()} does not end")
    try:
        point = json.loads(result.stdout)["lens"]["curves"][0]["points"][0]
    except (ValueError, KeyError, IndexError):
        sys.exit(f"grade.py: {faultline()} failed: {(result.stderr or result.stdout).strip()}")
    if not point["transfers"]:
        why = "; ".join(failure["text"] for failure in point["failures"])
        raise Wrong(f"not counted: {why}" if why else "not counted")
    lines = [f"{line['name']} {line['transfers']:.4f}" for line in point["lines"]]
    return point["transfers"]["median"], lines


def faultline():
    own = ROOT / "target/debug/faultline"
    return os.environ.get("FAULTLINE") or (str(own) if own.exists() else "faultline")


def points(transfers, part):
    whole, half = LIMITS[part]
    return SCALES if transfers <= whole else SCALES // 2 if transfers <= half else 0


def grade(source):
    """The lines of a report, and the sum of the points."""
    report, total = [], 0

    def row(name, text, reached, most):
        nonlocal total
        total += reached
        report.append(f"  {name:8} {text:<88} {reached:3} of {most}")

    with tempfile.TemporaryDirectory(prefix="lock-lab-") as directory:
        directory = Path(directory)
        # Equal paths give equal code.
        own = directory / "lab.c"
        shutil.copyfile(source, own)
        try:
            build(own, directory)
        except Wrong as wrong:
            return [f"  {wrong}".replace(str(directory) + "/", "")], 0
        for part, (whole, half) in LIMITS.items():
            try:
                check(directory, part)
                row(part, "correct", CORRECT, CORRECT)
            except Wrong as wrong:
                row(part, f"not correct: {wrong}", 0, CORRECT)
                row("", "not counted", 0, SCALES)
                continue
            try:
                transfers, lines = count(directory, part)
            except Wrong as wrong:
                row("", str(wrong), 0, SCALES)
                continue
            reached = points(transfers, part)
            limits = f"{SCALES} points: at most {whole}, {SCALES // 2} points: at most {half}"
            row("", f"{transfers:.4f} transfers per operation ({limits})", reached, SCALES)
            if reached < SCALES:
                report += [f"           {line}" for line in lines[:3]]
    return report, total


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "lab.c"
    if len(sys.argv) > 2 or not source.is_file():
        sys.exit(__doc__.splitlines()[0])
    report, total = grade(source)
    print("\n".join([source.name, *report, f"grade: {total} of {2 * (CORRECT + SCALES)}"]))


if __name__ == "__main__":
    main()
