"""Intermittent load: processes that are busy for a while, then idle for a while.

Usage: load.py PROCESSES SEED

Ends when its standard input ends, so that no load outlives its caller.
"""

import os
import random
import sys
import time
from multiprocessing import Process

LONGEST_S = 3.0


def busy_and_idle(seed, parent):
    draw = random.Random(seed)
    # If the parent was killed, the process has another one, and ends.
    while os.getppid() == parent:
        busy_until = time.monotonic() + draw.uniform(0, LONGEST_S)
        while time.monotonic() < busy_until:
            pass
        time.sleep(draw.uniform(0, LONGEST_S))


def main():
    processes, seed = int(sys.argv[1]), int(sys.argv[2])
    for number in range(processes):
        Process(target=busy_and_idle, args=(seed * 1000 + number, os.getpid()), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
