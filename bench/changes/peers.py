"""Other step finders, with their defaults and with settings to choose from. A finder takes values
and returns the first points of new levels.
"""

import warnings
from functools import partial
from statistics import median

import numpy
import ruptures
from asv import step_detect
from otava.analysis import compute_change_points
from otava.series import AnalysisOptions

from fpop import fpop
from narrowest import not_
from noises import in_noise
from smuce import smuce

warnings.filterwarnings("ignore")


OTAVA = AnalysisOptions()


def otava(values, window=OTAVA.window_len, p=OTAVA.max_pvalue, least=OTAVA.min_magnitude):
    """Apache Otava on one series, with its command line's defaults."""
    points, _ = compute_change_points(values, window_len=window, max_pvalue=p, min_magnitude=least)
    return {int(point.index) for point in points}


def asv(values, cost=1):
    """Steps as found by `asv publish`: those of asv.step_detect. `cost`: of a step, in units of
    asv's own.
    """
    if len(values) < 2:
        return set()
    beta = cost * 4 * numpy.log(len(values)) / len(values)
    right, *_ = step_detect.solve_potts_autogamma(values, w=[1] * len(values), beta=beta)
    return {int(end) for end in right[:-1]}


def pelt(values, cost=3, size=5, scale="differences"):
    """PELT for changes of the mean with the penalty `cost` · ln n; 3 is BIC's."""
    return set(ruptures.Pelt(model="l2", min_size=size, jump=1).fit(in_noise(values, scale)).predict(pen=cost * numpy.log(len(values)))[:-1])


# Perfherder's rules: t above 7 between up to 24 points before (at least 12, back to the last
# change) and 12 points after, with larger weights near the change; the largest t among its
# neighbours; a change of at least 2 %.
BACK, MOST_BACK, FORE, T, LEAST = 12, 24, 12, 7, 0.02


def perfherder(values, t=T):
    """Perfherder's t-test, reimplemented after its source."""
    scores, since = [0.0], 0
    for i in range(1, len(values)):
        back = values[max(0, i - min(max(since, BACK), MOST_BACK)) : i][::-1]
        scores.append(weighted_t(back, values[i : i + FORE]))
        since = 0 if scores[-1] > t else since + 1
    scores.append(0.0)

    def changed(i):
        before, after = mean_of(values[max(0, i - BACK) : i][::-1]), mean_of(values[i : i + FORE])
        return scores[i] > t and scores[i] >= max(scores[i - 1], scores[i + 1]) and abs(after - before) >= LEAST * abs(before)

    return {i for i in range(BACK, len(values) - FORE + 1) if changed(i)}


def mean_of(near_first):
    weights = numpy.arange(len(near_first), 0, -1)
    return float(numpy.average(near_first, weights=weights))


def weighted_t(back, fore):
    def error(values):
        centre = mean_of(values)
        return sum((value - centre) ** 2 for value in values) / max(len(values) - 1, 1) / len(values)

    difference, square = abs(mean_of(fore) - mean_of(back)), error(back) + error(fore)
    return difference / square**0.5 if square > 0 else (float("inf") if difference > 0 else 0.0)


PEERS = {"perfherder": perfherder, "asv": asv, "otava": otava, "pelt": pelt, "fpop": fpop, "not": not_, "smuce": smuce}


def large(values, steps, least):
    """The steps without those below `least`, a share of the level: as Faultline leaves them out."""
    steps = sorted(steps)
    while steps:
        ends = [0, *steps, len(values)]
        levels = [median(values[a:b]) for a, b in zip(ends, ends[1:])]
        sizes = [abs(b - a) / abs(a) if a else float("inf") for a, b in zip(levels, levels[1:])]
        if min(sizes) >= least:
            break
        del steps[sizes.index(min(sizes))]
    return set(steps)


# The settings of each that are tried on the tuning parts: the best of them are its best.
TRIED = {
    "perfherder": [partial(perfherder, t=t) for t in (3, 4, 5, 6, 7, 9)],
    "asv": [partial(asv, cost=cost) for cost in (0.3, 0.5, 0.7, 1, 1.5, 2)],
    "otava": [partial(otava, window=window, p=p) for window in (30, 50) for p in (1e-3, 1e-5, 1e-8)],
    "pelt": [
        partial(pelt, cost=cost, size=size, scale=scale)
        for scale, costs in (("differences", (3, 6, 10, 15, 25, 40, 60)), ("values", (0.5, 1, 2, 3, 4, 6)))
        for cost in costs
        for size in (2, 5)
    ],
    "fpop": [
        partial(fpop, cost=cost, bound=bound, scale=scale)
        for scale, costs in (("differences", (2, 3, 5, 8, 12, 20)), ("values", (0.3, 0.5, 1, 2, 3)))
        for cost in costs
        for bound in (2, 3)
    ],
    "not": [
        *(partial(not_, power=power) for power in (1.01, 1.2, 1.5, 1.8, 2.1)),
        *(partial(not_, cost=cost) for cost in (1, 1.3, 1.7, 2.2, 3, 4)),
        *(partial(not_, cost=cost, scale="values") for cost in (0.4, 0.6, 0.8, 1, 1.3)),
    ],
    "smuce": [
        *(partial(smuce, alpha=alpha, cost=cost) for alpha in (0.5, 0.1, 0.01) for cost in (1, 1.5, 2, 3, 4)),
        *(partial(smuce, alpha=0.1, cost=cost, scale="values") for cost in (0.2, 0.3, 0.5, 0.7, 1)),
    ],
}
