"""Running the built workloads from tests."""

import os
import pathlib
import signal
import subprocess

# A shell's background job ignores SIGINT, and child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

BUILD = pathlib.Path(os.environ.get("BUILD", pathlib.Path(__file__).parents[2] / "target/workloads")).resolve()
PORTABLE = BUILD.with_name(BUILD.name + "-portable")
SANITIZE = BUILD.with_name(BUILD.name + "-sanitize")

# Every C file beside the tests is a workload, except the program that self_exec executes.
WORKLOADS = sorted(file.stem for file in pathlib.Path(__file__).parents[1].glob("*.c") if file.stem != "self_exec_image")

TIME_LIMIT_S = 60


def command(workload, *arguments, build=BUILD):
    return [str(build / workload), *map(str, arguments)]


def run(workload, *arguments, build=BUILD, **keywords):
    """Runs to the end; stdout and stderr of the result are text."""
    return subprocess.run(
        command(workload, *arguments, build=build),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIME_LIMIT_S,
        **keywords,
    )


def start(workload, *arguments, build=BUILD, **keywords):
    return subprocess.Popen(
        command(workload, *arguments, build=build),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def processes():
    """(pid, parent, command line) of every process that is not a zombie."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if state not in "ZX":
            found.append((int(entry.name), int(parent), [word.decode(errors="replace") for word in words]))
    return found


def children(pid):
    return [child for child, parent, _ in processes() if parent == pid]


def descendants(pid):
    below = children(pid)
    for child in list(below):
        below += descendants(child)
    return below


def alive(pid):
    return any(process == pid for process, _, _ in processes())
