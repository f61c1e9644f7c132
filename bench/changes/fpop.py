"""Robust FPOP, written from its paper: the optimal segments for a bounded loss, so that outliers
make no step.

Source: P. Fearnhead, G. Rigaill, Changepoint Detection in the Presence of Outliers, Journal of the
American Statistical Association 114, 2019.
"""

import numpy

from noises import in_noise


class Pieces:
    """A function of the level, made of parabolas: the least loss of all segmentations that end with
    this level. `begin`: where the last segment of each begins.
    """

    def __init__(self, low, high):
        self.ends = numpy.array([low, high])
        self.terms = numpy.zeros((1, 3))
        self.begin = numpy.zeros(1, int)

    def least(self):
        """The least value, and the begin of its last segment."""
        left, right = self.ends[:-1], self.ends[1:]
        square, linear, _ = self.terms.T
        curved = square > 0
        at = numpy.where(curved, -linear / numpy.where(curved, 2 * square, 1), left)
        at = numpy.clip(at, left, right)
        values = (self.terms * numpy.stack([at**2, at, numpy.ones_like(at)], axis=1)).sum(axis=1)
        return values.min(), self.begin[values.argmin()]

    def cut_off(self, most, begin):
        """Replaces what is above `most` by a segment that begins here."""
        left, right = self.ends[:-1], self.ends[1:]
        square, linear, constant = self.terms.T
        curved, below = square > 0, constant - most
        root = linear**2 - 4 * square * below
        is_kept = numpy.where(curved, root > 0, below <= 0)
        double = numpy.where(curved, 2 * square, 1)
        root = numpy.maximum(root, 0) ** 0.5
        first = numpy.where(curved, numpy.clip((-linear - root) / double, left, right), left)
        last = numpy.where(curved, numpy.clip((-linear + root) / double, left, right), right)
        first, last = numpy.where(is_kept, first, right), numpy.where(is_kept, last, right)
        # Each piece becomes at most three: new, kept, new.
        starts = numpy.stack([left, first, last], axis=1).ravel()
        is_new = numpy.tile([True, False, True], len(left))
        terms = numpy.repeat(self.terms, 3, axis=0)
        terms[is_new] = [0, 0, most]
        begins = numpy.where(is_new, begin, numpy.repeat(self.begin, 3))
        there = numpy.stack([first, last, right], axis=1).ravel() > starts
        starts, terms, begins, is_new = starts[there], terms[there], begins[there], is_new[there]
        apart = numpy.concatenate([[True], ~(is_new[1:] & is_new[:-1])])
        self.ends = numpy.append(starts[apart], right[-1])
        self.terms, self.begin = terms[apart], begins[apart]

    def add_loss(self, value, bound):
        """Adds the squared distance from `value`, at most the square of `bound`."""
        for edge in (value - bound, value + bound):
            at = int(numpy.searchsorted(self.ends, edge))
            if 0 < at < len(self.ends) and self.ends[at] != edge:
                self.ends = numpy.insert(self.ends, at, edge)
                self.terms = numpy.insert(self.terms, at, self.terms[at - 1], axis=0)
                self.begin = numpy.insert(self.begin, at, self.begin[at - 1])
        near = numpy.abs((self.ends[:-1] + self.ends[1:]) / 2 - value) < bound
        self.terms += numpy.where(near[:, None], [1, -2 * value, value**2], [0, 0, bound**2])


def fpop(values, cost=2, bound=3, scale="differences"):
    """The least sum of the biweight loss, which is bounded at `bound` standard deviations, and of
    `cost` · ln n for each step.
    """
    scaled, n = in_noise(values, scale), len(values)
    if scaled.min() == scaled.max():
        return set()
    pieces, begin = Pieces(scaled.min(), scaled.max()), [0] * (n + 1)
    for at, value in enumerate(scaled):
        if at:
            least, begin[at] = pieces.least()
            pieces.cut_off(least + cost * numpy.log(n), at)
        pieces.add_loss(value, bound)
    begin[n] = int(pieces.least()[1])
    return traced(begin, n)


def traced(begin, n):
    """The steps, by the begin of the last segment of each number of first points."""
    steps = set()
    while begin[n]:
        n = int(begin[n])
        steps.add(n)
    return steps


def check():
    """Obvious answers, and the optimum over all segmentations of a few values."""
    quiet = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.1]
    stairs = quiet + [9 + value for value in quiet] + [4 + value for value in quiet]
    assert fpop(stairs) == {10, 20}, fpop(stairs)
    outlier = quiet + [90.0] + quiet
    assert fpop(outlier) == set(), fpop(outlier)
    assert fpop([5.0] * 20) == set() and fpop([1.0] * 10 + [2.0] * 10) == {10}
    few = [0.0, 1.2, 7.0, 0.4, 5.1, 4.2, 5.5, 0.1, 6.0, 5.2]
    assert fpop(few, cost=1) == exhaustive(in_noise(few, "differences"), 3, numpy.log(len(few))), fpop(few, cost=1)


def exhaustive(values, bound, penalty):
    """The cheapest of all segmentations, by a fine grid of levels."""
    levels = numpy.linspace(min(values), max(values), 4001)[:, None]
    losses = numpy.minimum((levels - values) ** 2, bound**2)
    n, best = len(values), (float("inf"), set())
    for chosen in range(2 ** (n - 1)):
        steps = [i for i in range(1, n) if chosen >> (i - 1) & 1]
        parts = numpy.split(losses, steps, axis=1)
        best = min(best, (sum(part.sum(axis=1).min() for part in parts) + penalty * len(steps), set(steps)), key=lambda one: one[0])
    return best[1]
