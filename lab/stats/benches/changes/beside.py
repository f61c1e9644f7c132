"""The change finder beside Apache Otava on the same series: false alarms, steps found, time.

Usage: beside.py STEPS [DIRECTORY]
STEPS is the built example `steps` of faultline-stats; DIRECTORY, optional, holds the Turing Change Point Dataset (annotations.json and the series'
JSON files). Both run with their defaults. Series are simulated with fixed seeds. Needs apache-otava, which brings numpy; without it, ours runs alone.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

try:
    import numpy
    from otava.analysis import compute_change_points
    from otava.series import AnalysisOptions
except ImportError as error:
    sys.exit(f"beside.py: {error}; `make bench-changes` installs what it needs")

MARGIN = 5  # points that a step may lie off its place, as the data set's authors have it
NULLS = 200
STEPPED = 200


def null_series(rng, points):
    """Series without a step, by the noise's shape."""
    white = rng.standard_normal(points)
    kept = numpy.zeros(points)
    for i in range(points):
        kept[i] = (0.6 * kept[i - 1] if i else 0) + white[i] * 0.8
    two_states = numpy.where(rng.random(points) < 0.3, 4.0, 0.0) + rng.standard_normal(points)
    spikes = rng.standard_normal(points) + numpy.where(rng.random(points) < 0.02, 15.0, 0.0)
    return {
        "normal": white,
        "heavy-tailed": rng.standard_t(2, points),
        "two states": two_states,
        "autocorrelated": kept,
        "single spikes": spikes,
    }


def simulated(seed):
    """(name, values, places of steps, or None for a series without) of all kinds."""
    rng = numpy.random.default_rng(seed)
    for number in range(NULLS):
        for shape, values in null_series(rng, 200).items():
            yield f"null {shape}", 100 + values, []
    for number in range(STEPPED):
        for size in (1, 2, 4):
            values = rng.standard_normal(120)
            place = 30 + int(rng.integers(0, 61))
            values[place:] += size
            yield f"step of {size} sd", 100 + values, [place]


def turing(directory):
    """Series of one dimension with the marks of each person."""
    annotations = json.loads((directory / "annotations.json").read_text())
    files = {path.stem: path for path in sorted(directory.rglob("*.json"))}
    for path in (files[name] for name in sorted(annotations) if name in files):
        series = json.loads(path.read_text()).get("series", [])
        if len(series) == 1:
            values = series[0]["raw"]
            yield path.stem, values, [set(marks) for marks in annotations[path.stem].values()]


def ours(steps, series):
    """Steps and seconds of each series, in order."""
    plain = lambda values: [None if value is None or value != value else float(value) for value in values]
    lines = "".join(json.dumps({"name": name, "values": plain(values)}) + "\n" for name, values, _ in series)
    answer = subprocess.run([steps], input=lines, capture_output=True, text=True, check=True, timeout=3600)
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    return [(set(one["steps"]), one["seconds"]) for one in found]


def otava(series):
    """The same from Otava, by its function for one series with the options of its command line's defaults."""
    options = AnalysisOptions()
    found = []
    for _, values, _ in series:
        whole = numpy.array([numpy.nan if value is None else float(value) for value in values])
        there = numpy.flatnonzero(~numpy.isnan(whole))
        begun = time.perf_counter()
        points, _ = compute_change_points(
            whole[there].tolist(), window_len=options.window_len, max_pvalue=options.max_pvalue, min_magnitude=options.min_magnitude
        )
        seconds = time.perf_counter() - begun
        found.append(({int(there[point.index]) for point in points}, seconds))
    return found


def hits(marks, steps):
    left, count = set(steps), 0
    for mark in sorted(marks):
        near = [step for step in left if abs(step - mark) <= MARGIN]
        if near:
            left.remove(min(near, key=lambda step: abs(step - mark)))
            count += 1
    return count


def f1(people, steps):
    """As van den Burg and Williams define it (arXiv 2003.06222): the beginning counts as a mark."""
    steps = steps | {0}
    people = [marks | {0} for marks in people]
    precision = hits(set().union(*people), steps) / len(steps)
    recall = mean(hits(marks, steps) / len(marks) for marks in people)
    return 2 * precision * recall / (precision + recall)


def cover(people, steps, points):
    def segments(places):
        ends = sorted({0, points} | {place for place in places if 0 < place < points})
        return [set(range(a, b)) for a, b in zip(ends, ends[1:])]

    def best(wanted, found):
        return max(len(wanted & one) / len(wanted | one) for one in found)

    found = segments(steps)
    return mean(sum(len(one) * best(one, found) for one in segments(marks)) / points for marks in people)


def row(name, cells):
    print(f"  {name:24}" + "".join(f"{cell:>18}" for cell in cells))


def show_simulated(series, answers):
    row("", answers)
    print("simulated, 200 points without a step: share of series in which one is found")
    names = list(dict.fromkeys(name for name, _, _ in series))
    for name in names:
        chosen = [i for i, one in enumerate(series) if one[0] == name]
        if name.startswith("null"):
            row(name[5:], [f"{mean(bool(found[i][0]) for i in chosen):.1%}" for found in answers.values()])
    print(f"simulated, 120 points with one step: found within {MARGIN} points / series with any other")
    for name in names:
        chosen = [i for i, one in enumerate(series) if one[0] == name]
        if not name.startswith("null"):
            cells = []
            for found in answers.values():
                hit = [hits(set(series[i][2]), found[i][0]) for i in chosen]
                others = [len(found[i][0]) > one for i, one in zip(chosen, hit)]
                cells.append(f"{mean(hit):.1%} / {mean(others):.1%}")
            row(name, cells)
    show_time(series, answers)


def show_time(series, answers):
    row("time, ms a series", [f"{1e3 * mean(seconds for _, seconds in found):.3f}" for found in answers.values()])


def show_turing(series, answers):
    print(f"Turing Change Point Dataset, {len(series)} series")
    scores = {
        "F1": lambda one, steps: f1(one[2], steps),
        "cover": lambda one, steps: cover(one[2], steps, len(one[1])),
    }
    for name, score in scores.items():
        row(name, [f"{mean(score(one, steps) for one, (steps, _) in zip(series, found)):.3f}" for found in answers.values()])
    show_time(series, answers)


def beside(steps, series):
    return {"faultline": ours(steps, series), "otava": otava(series)}


def main():
    steps = sys.argv[1]
    series = list(simulated(20261121))
    show_simulated(series, beside(steps, series))
    if len(sys.argv) > 2:
        series = list(turing(Path(sys.argv[2])))
        show_turing(series, beside(steps, series))


if __name__ == "__main__":
    main()
