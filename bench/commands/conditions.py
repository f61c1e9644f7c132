"""Machine conditions (without added load, or with intermittent or steady load), and a command with
a known amount of work.
"""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


@contextmanager
def load(processes, seed, *when, is_elsewhere=False):
    """Runs the body beside this number of processes, each of which is busy and idle alternately, or
    "always" busy; 0 adds no load. Elsewhere: in a session of their own, as if started in another
    terminal, to which Linux gives CPU time as to one group.
    """
    if processes == 0:
        yield
        return
    command = [sys.executable, HERE / "load.py", str(processes), str(seed), *when]
    loading = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=is_elsewhere)
    try:
        yield
    finally:
        loading.stdin.close()
        loading.wait(timeout=10)


def spin(directory):
    """(path of the command, number of steps that take 25 ms on this machine)."""
    built = Path(directory) / "spin"
    subprocess.run(["cc", "-O2", "-o", built, HERE / "spin.c"], check=True)
    steps = subprocess.run([built], capture_output=True, text=True, check=True, timeout=60).stdout
    return built, int(steps)
