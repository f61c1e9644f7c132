"""SMUCE, the simultaneous multiscale change point estimator, written from its paper: the fewest
steps whose levels no interval contradicts.

Source: K. Frick, A. Munk, H. Sieling, Multiscale Change Point Inference, Journal of the Royal
Statistical Society B 76, 2014.
"""

from functools import cache

import numpy

from fpop import traced
from noises import in_noise

SEED = 20261122
SIMULATED = 1000  # series for a quantile


@cache
def maxima(n):
    """Simulated multiscale statistics of `n` independent normal values, in order."""
    sums = numpy.cumsum(numpy.random.default_rng([SEED, n]).standard_normal((SIMULATED, n)), axis=1)
    sums = numpy.concatenate([numpy.zeros((SIMULATED, 1)), sums], axis=1)
    greatest = numpy.full(SIMULATED, -numpy.inf)
    for length in range(1, n + 1):
        of_length = numpy.abs(sums[:, length:] - sums[:, :-length]).max(axis=1) / length**0.5
        greatest = numpy.maximum(greatest, of_length - (2 * numpy.log(numpy.e * n / length)) ** 0.5)
    return numpy.sort(greatest)


def smuce(values, alpha=0.1, cost=1, scale="differences"):
    """The fewest steps whose levels pass the multiscale test at `alpha` in every interval, of these
    the best fit. `cost`: factor of the noise.
    """
    scaled, n = in_noise(values, scale) / cost, len(values)
    sums, squares = (numpy.concatenate([[0], numpy.cumsum(scaled**k)]) for k in (1, 2))
    start, end = numpy.arange(n)[:, None], numpy.arange(1, n + 1)
    length = numpy.maximum(end - start, 1)
    means = (sums[1:] - sums[:-1, None]) / length
    width = (numpy.quantile(maxima(n), 1 - alpha) + (2 * numpy.log(numpy.e * n / length)) ** 0.5) / length**0.5
    inside = end > start

    def over_parts(bounds):
        """The greatest bound of all intervals within each."""
        bounds = numpy.maximum.accumulate(numpy.where(inside, bounds, -numpy.inf), axis=1)
        return numpy.maximum.accumulate(bounds[::-1], axis=0)[::-1]

    low, high = over_parts(means - width), -over_parts(-means - width)
    level = numpy.clip(means, low, numpy.maximum(low, high))
    cost = squares[1:] - squares[:-1, None] - 2 * level * (sums[1:] - sums[:-1, None]) + length * level**2
    # A further step costs more than any misfit.
    is_possible = inside & (low <= high)
    cost = numpy.where(is_possible, cost, numpy.inf) + (cost[is_possible].max() + 1) * n
    least, begin = numpy.zeros(n + 1), numpy.zeros(n + 1, int)
    for end in range(1, n + 1):
        costs = least[:end] + cost[:end, end - 1]
        begin[end] = costs.argmin()
        least[end] = costs[begin[end]]
    return traced(begin, n)


def check():
    """Obvious answers, and a quantile of the normal distribution."""
    quiet = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.1]
    stairs = quiet + [9 + value for value in quiet] + [4 + value for value in quiet]
    assert smuce(stairs) == {10, 20}, smuce(stairs)
    assert smuce(quiet * 3) == set(), smuce(quiet * 3)
    assert smuce([5.0] * 20) == set() and smuce([1.0] * 10 + [2.0] * 10) == {10}
    assert abs(numpy.quantile(maxima(1), 0.9) - (1.645 - 2**0.5)) < 0.15
