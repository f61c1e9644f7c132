"""F1 and covering as defined by van den Burg and Williams (arXiv 2003.06222)."""

from statistics import mean

MARGIN = 5  # maximum distance of a step from an annotation, in points


def hits(marks, steps):
    """Annotations with a step near them, each step counted once."""
    left, count = set(steps), 0
    for mark in sorted(marks):
        near = [step for step in left if abs(step - mark) <= MARGIN]
        if near:
            left.remove(min(near, key=lambda step: abs(step - mark)))
            count += 1
    return count


def f1(people, steps):
    """Precision against all annotations together, recall against each person's; the beginning
    counts as an annotation.
    """
    steps = steps | {0}
    people = [marks | {0} for marks in people]
    precision = hits(set().union(*people), steps) / len(steps)
    recall = mean(hits(marks, steps) / len(marks) for marks in people)
    return 2 * precision * recall / (precision + recall)


def cover(people, steps, points):
    """Mean overlap of each person's segments with the best found segment, weighted by length."""

    def segments(places):
        ends = sorted({0, points} | {place for place in places if 0 < place < points})
        return list(zip(ends, ends[1:]))

    def likeness(a, b):
        common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
        return common / (a[1] - a[0] + b[1] - b[0] - common)

    found = segments(steps)
    return mean(
        sum((wanted[1] - wanted[0]) * max(likeness(wanted, one) for one in found) for wanted in segments(marks)) / points
        for marks in people
    )
