"""Kinds of noise without a step, as in lab/stats/tests/battery, white noise with one step, and the
estimate of a series' noise.
"""

import numpy


def autoregressive(rng, kept, points):
    values, value = numpy.empty(points), rng.standard_normal()
    for i in range(points):
        values[i] = value
        value = kept * value + (1 - kept**2) ** 0.5 * rng.standard_normal()
    return values


def fractional(rng, d, points):
    past = max(2 * points, 1000)
    steps = numpy.arange(1, past)
    weights = numpy.concatenate([[1.0], numpy.cumprod((steps - 1 + d) / steps)])
    values = numpy.convolve(rng.standard_normal(past + points), weights)[past : past + points]
    return values / (weights**2).sum() ** 0.5


def flicker(rng, chance, points):
    return 4 * (numpy.cumsum(rng.random(points) < chance) % 2) + rng.standard_normal(points)


NOISES = {
    "white": lambda rng, n: rng.standard_normal(n),
    "keeps 0.3": lambda rng, n: autoregressive(rng, 0.3, n),
    "keeps 0.6": lambda rng, n: autoregressive(rng, 0.6, n),
    "keeps 0.9": lambda rng, n: autoregressive(rng, 0.9, n),
    "keeps 0.97": lambda rng, n: autoregressive(rng, 0.97, n),
    "80 % white, 20 % keeps 0.97": lambda rng, n: 0.2**0.5 * autoregressive(rng, 0.97, n) + 0.8**0.5 * rng.standard_normal(n),
    "fractional, d 0.2": lambda rng, n: fractional(rng, 0.2, n),
    "fractional, d 0.4": lambda rng, n: fractional(rng, 0.4, n),
    "random walk + white": lambda rng, n: numpy.cumsum(0.1 * rng.standard_normal(n)) + rng.standard_normal(n),
    "heavy tails (t3)": lambda rng, n: rng.standard_t(3, n),
    "outliers": lambda rng, n: rng.standard_normal(n) + (rng.random(n) < 0.03) * rng.normal(10, 5, n),
    "two levels at random": lambda rng, n: 4 * (rng.random(n) < 0.3) + rng.standard_normal(n),
    "levels for 5 points": lambda rng, n: flicker(rng, 0.2, n),
    "levels for 20 points": lambda rng, n: flicker(rng, 0.05, n),
    "quantised": lambda rng, n: numpy.round(0.7 * rng.standard_normal(n)),
    "straight rise by 2": lambda rng, n: numpy.linspace(0, 2, n) + rng.standard_normal(n),
    "three times as wide": lambda rng, n: numpy.where(numpy.arange(n) < n // 2, 1, 3) * rng.standard_normal(n),
}


def stepped(rng, each, size):
    """White noise with a step after `each` points, followed by as many points."""
    return rng.standard_normal(2 * each) + size * (numpy.arange(2 * each) >= each)


def noise_of(values, scale):
    """The noise: from the median absolute deviation of neighbours' differences, or the standard
    deviation of all values.
    """
    differences = numpy.diff(values)
    noise = 1.4826 * numpy.median(numpy.abs(differences - numpy.median(differences))) / 2**0.5
    return float((values.std() if scale == "values" or noise == 0 else noise) or 1)


def in_noise(values, scale):
    values = numpy.array(values, float)
    return (values - numpy.median(values)) / noise_of(values, scale)
