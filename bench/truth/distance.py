"""Distance of this machine's CPUs: the time in which two tasks pass a word to each other.

A hypervisor moves virtual CPUs: from minute to minute a line takes 25 or 220 ns. A measurement
at one distance says nothing about a prediction for another, so measurements count only if the
distance before and after them is that of the calibration.
"""

import statistics

PROBE = "turn_spinning"
TURNS = 512
SAMPLES = 3
# Distances with a smaller ratio count as equal.
SAME = 1.5
# Maximum number of calibrations until the distance is stable.
CALIBRATIONS = 10


class Distance:
    """The distance at calibration. `once` runs a program (kind, tasks, turns) and returns
    nanoseconds and preemptions.
    """

    def __init__(self, once):
        self.once = once
        self.hand_over_ns = None

    def now_ns(self):
        """The current time of a hand-over; None if other work interrupted all samples."""
        samples = (self.once(PROBE, 2, TURNS) for _ in range(SAMPLES))
        times = [nanoseconds / (2 * TURNS) for nanoseconds, preempted in samples if not preempted]
        return statistics.median(times) if times else None

    def calibrate(self, measure):
        """Calls `measure` until it returns a result, with an equal distance before and after, and
        returns the result. Fails if it never does. `measure` returns None on a disturbed machine.
        """
        for _ in range(CALIBRATIONS):
            before = self.now_ns()
            result = measure()
            after = self.now_ns()
            if result is not None and are_same(before, after):
                self.hand_over_ns = statistics.mean((before, after))
                return result
        raise RuntimeError("the distance between the CPUs changed during each calibration, or other work interrupted it")

    def is_calibrated(self):
        """True if the CPUs are as far apart as at calibration."""
        return are_same(self.now_ns(), self.hand_over_ns)


def are_same(one, other):
    return one is not None and other is not None and max(one, other) <= SAME * min(one, other)
