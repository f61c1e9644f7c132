"""NOT, narrowest-over-threshold, written from its paper: the narrowest intervals that differ decide
where the steps are.

Source: R. Baranowski, Y. Chen, P. Fryzlewicz, Narrowest-Over-Threshold Detection of Multiple Change
Points and Change-Point-Like Features, Journal of the Royal Statistical Society B 81, 2019.
"""

from functools import lru_cache

import numpy

from noises import noise_of

MOST_STEPS = 25  # of a solution, as in the authors' package


@lru_cache(maxsize=200)
def contrasts(values):
    """(from, to, place, contrast) of every interval, the narrowest first. The authors draw
    intervals at random; these series are short enough for all.
    """
    n, sums = len(values), numpy.concatenate([[0], numpy.cumsum(values)])
    found = []
    for start in range(n - 1):
        at, end = numpy.arange(start + 1, n), numpy.arange(start + 2, n + 1)[:, None]
        left, right = at - start, numpy.maximum(end - at, 1)
        means = (sums[at] - sums[start]) / left - (sums[end] - sums[at]) / right
        sizes = numpy.where(at < end, numpy.abs(means) * (left * right / (left + right)) ** 0.5, -1)
        best = sizes.argmax(axis=1)
        found += zip([start] * len(best), end[:, 0], at[best], sizes[numpy.arange(len(best)), best])
    found = numpy.array(found)
    return found[numpy.lexsort((-found[:, 3], found[:, 1] - found[:, 0]))]


def narrowest_over(found, n, threshold):
    """{place: contrast} of NOT for one threshold."""
    found = found[found[:, 3] > threshold]
    open_, steps = [(0, n)], {}
    while open_:
        start, end = open_.pop()
        inside = (found[:, 0] >= start) & (found[:, 1] <= end)
        if inside.any():
            _, _, place, contrast = found[inside.argmax()]
            steps[int(place)] = contrast
            open_ += [(start, int(place)), (int(place), end)]
    return steps


@lru_cache(maxsize=200)
def solutions(values):
    """The steps for every threshold from half the usual one on, if they are few enough."""
    found, n, threshold = contrasts(values), len(values), 0.5 * usual_threshold(values)
    steps = narrowest_over(found, n, threshold)
    while len(steps) > MOST_STEPS:
        threshold *= 1.1
        steps = narrowest_over(found, n, threshold)
    found_steps = [set(steps)]
    while steps:
        found = found[found[:, 3] > min(steps.values())]
        steps = narrowest_over(found, n, 0)
        found_steps.append(set(steps))
    return [steps for steps in found_steps if len(steps) <= MOST_STEPS]


def usual_threshold(values, scale="differences"):
    return noise_of(numpy.array(values, float), scale) * (2 * numpy.log(len(values))) ** 0.5


def not_(values, power=1.01, cost=None, scale="differences"):
    """Narrowest-over-threshold for a piecewise constant mean: the solution of all thresholds with
    the least strengthened Schwarz criterion with the exponent `power`; with a `cost`, that of the
    threshold `cost` · noise · sqrt(2 ln n).
    """
    values, n = tuple(values), len(values)
    if cost is not None:
        return set(narrowest_over(contrasts(values), n, cost * usual_threshold(values, scale)))
    whole = max(float(numpy.var(values)), 1e-300)

    def criterion(steps):
        variance = sum(part.var() * len(part) for part in numpy.split(values, sorted(steps))) / n
        return n * numpy.log(max(variance / whole, 1e-24)) + 2 * len(steps) * numpy.log(n) ** power

    return min(solutions(values), key=criterion)


def check():
    """Obvious answers."""
    quiet = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.1]
    stairs = quiet + [9 + value for value in quiet] + [4 + value for value in quiet]
    for find in (not_, lambda values: not_(values, cost=1)):
        assert find(stairs) == {10, 20}, find(stairs)
        assert find(quiet * 3) == set(), find(quiet * 3)
        assert find([5.0] * 20) == set() and find([1.0] * 10 + [2.0] * 10) == {10}
