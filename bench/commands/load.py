"""Load: processes that are busy for a while, then idle for a while, or always busy.

Usage: load.py PROCESSES SEED [always]

Ends when its standard input ends, so that no load outlives its caller.
"""

import os
import random
import sys
import time
from multiprocessing import Process

LONGEST_S = 3.0


def busy(seed, parent, idle_s):
    draw = random.Random(seed)
    # If the parent was killed, the process has another one, and ends.
    while os.getppid() == parent:
        busy_until = time.monotonic() + draw.uniform(0, LONGEST_S)
        while time.monotonic() < busy_until:
            pass
        time.sleep(draw.uniform(0, idle_s))


def main():
    processes, seed = int(sys.argv[1]), int(sys.argv[2])
    idle_s = 0 if sys.argv[3:] == ["always"] else LONGEST_S
    for number in range(processes):
        Process(target=busy, args=(seed * 1000 + number, os.getpid(), idle_s), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
