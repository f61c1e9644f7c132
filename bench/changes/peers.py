"""Other step finders with their defaults. A finder takes values and returns the first points of new
levels.
"""

import warnings

import numpy
import ruptures
from asv import step_detect
from otava.analysis import compute_change_points
from otava.series import AnalysisOptions

warnings.filterwarnings("ignore")


def otava(values):
    """Apache Otava on one series, with its command line's defaults."""
    options = AnalysisOptions()
    points, _ = compute_change_points(
        values, window_len=options.window_len, max_pvalue=options.max_pvalue, min_magnitude=options.min_magnitude
    )
    return {int(point.index) for point in points}


def asv(values):
    """Steps as found by `asv publish`: those of asv.step_detect."""
    return {int(step[0]) for step in step_detect.detect_steps(values) if step[0] > 0}


def pelt(values):
    """PELT for changes of the mean with BIC's penalty, 3 ln n; the noise is estimated from the
    median of neighbours' differences.
    """
    values = numpy.array(values)
    differences = numpy.diff(values)
    noise = 1.4826 * numpy.median(numpy.abs(differences - numpy.median(differences))) / 2**0.5
    scaled = values / (noise if noise > 0 else values.std() or 1)
    return set(ruptures.Pelt(model="l2", min_size=5, jump=1).fit(scaled).predict(pen=3 * numpy.log(len(values)))[:-1])


# Perfherder's rules: t above 7 between up to 24 points before (at least 12, back to the last
# change) and 12 points after, with larger weights near the change; the largest t among its
# neighbours; a change of at least 2 %.
BACK, MOST_BACK, FORE, T, LEAST = 12, 24, 12, 7, 0.02


def perfherder(values):
    """Perfherder's t-test, reimplemented after its source."""
    scores, since = [0.0], 0
    for i in range(1, len(values)):
        back = values[max(0, i - min(max(since, BACK), MOST_BACK)) : i][::-1]
        scores.append(weighted_t(back, values[i : i + FORE]))
        since = 0 if scores[-1] > T else since + 1
    scores.append(0.0)

    def changed(i):
        before, after = mean_of(values[max(0, i - BACK) : i][::-1]), mean_of(values[i : i + FORE])
        return scores[i] > T and scores[i] >= max(scores[i - 1], scores[i + 1]) and abs(after - before) >= LEAST * abs(before)

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


PEERS = {"perfherder": perfherder, "asv": asv, "otava": otava, "pelt": pelt}
