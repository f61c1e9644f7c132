"""Agreement of predictions with the hardware, and the goals."""

import math

# The goals.
LEAST_SPEARMAN = 0.9
MOST_OFF_SIDE = 1.2
NEAR = 2.0
LEAST_NEAR = 0.8
# So that withholding predictions does not look like success.
MOST_WITHHELD = 1 / 3
MOST_UNMEASURED = 1 / 5


def ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def spearman(pairs):
    if len(pairs) < 3:
        return math.nan
    one, other = (ranks(side) for side in zip(*pairs))
    mean = (len(pairs) + 1) / 2
    products = sum((a - mean) * (b - mean) for a, b in zip(one, other))
    squares = math.prod(sum((rank - mean) ** 2 for rank in side) for side in (one, other))
    return products / math.sqrt(squares) if squares else math.nan


def ratio(measured, predicted):
    return max(measured / predicted, predicted / measured)


def is_on_wrong_side(measured, predicted):
    """True if one is faster than one CPU, the other slower, and they differ by more than the
    tolerance.
    """
    return (measured - 1) * (predicted - 1) < 0 and ratio(measured, predicted) > MOST_OFF_SIDE


def scores(rows):
    """`rows`: for each case with several tasks, the measured and the predicted speed-up, and the
    range of the latter. A prediction is None if it was withheld.
    """
    given = [(row["measured"], row["predicted"]) for row in rows if row["predicted"] is not None]
    near = sum(ratio(*pair) <= NEAR for pair in given)
    ranges = [(row["measured"], row["range"]) for row in rows if row.get("range")]
    return {
        "cases": len(rows),
        "withheld": len(rows) - len(given),
        "spearman": spearman(given),
        "wrong_side": sum(is_on_wrong_side(*pair) for pair in given),
        "near": near,
        "ranges": len(ranges),
        "within": sum(low <= measured <= high for measured, (low, high) in ranges),
        "near_share": near / len(given) if given else math.nan,
    }


def misses(score):
    """The missed goals, as text."""
    checks = [
        (score["spearman"] >= LEAST_SPEARMAN, f"Spearman's rank correlation is below {LEAST_SPEARMAN}"),
        (score["wrong_side"] == 0, "a prediction is on the wrong side of 1 by more than 20 %"),
        (score["near_share"] >= LEAST_NEAR, "fewer than four of five predictions are within a factor of 2"),
        (score["withheld"] <= MOST_WITHHELD * score["cases"], "more than a third of the predictions were withheld"),
        (score["unmeasured"] <= MOST_UNMEASURED * (score["unmeasured"] + score["cases"]), "more than a fifth of the cases could not be measured"),
    ]
    return [words for is_met, words in checks if not is_met]
