"""Real annotated series: (name, values, annotations of each person). Values are read from clones;
see MARKS.md.
"""

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

FEWEST = 100  # minimum number of points of a series


def turing(directory):
    """The one-dimensional series of the Turing Change Point Dataset."""
    annotations = json.loads(next(directory.rglob("annotations.json")).read_text())
    files = {path.stem: path for path in sorted(directory.rglob("*.json"))}
    for name in sorted(name for name in annotations if name in files):
        series = json.loads(files[name].read_text()).get("series", [])
        if len(series) == 1:
            yield name, series[0]["raw"], [set(marks) for marks in annotations[name].values()]


@cache
def asv_results(directory, archive):
    """{name: [(commit, value)]} of every benchmark, parameter, machine and environment, by commit
    date.
    """
    series = {}
    for machine in sorted(path for path in (directory / "results").iterdir() if path.is_dir()):
        runs = defaultdict(list)
        for path in sorted(machine.glob("*-virtualenv-*.json")):
            run = json.loads(path.read_text())
            runs[run["env_name"]].append(run)
        for of_environment in (runs for runs in runs.values() if len(runs) >= FEWEST):
            points = defaultdict(list)
            for run in sorted(of_environment, key=lambda run: (run["date"], run["commit_hash"])):
                for name, result in run["results"].items():
                    values = result[0] if isinstance(result, list) else result
                    version = result[2] if isinstance(result, list) and len(result) > 2 else ""
                    for i, value in enumerate(values if isinstance(values, list) else [values]):
                        if isinstance(value, (int, float)) and value == value:
                            points[f"{archive}/{machine.name}/{name}[{i}]"].append((version, run["commit_hash"], value))
            for name, found in points.items():
                usual = Counter(version for version, *_ in found).most_common(1)[0][0]
                series.setdefault(name, []).append([point[1:] for point in found if point[0] == usual])
    return series


@cache
def jmh_results(directory, archive):
    """{name: [(commit, value)]} of every benchmark, by commit time."""
    points = defaultdict(list)
    for path in (directory / "cache").glob("*.json"):
        run = json.loads(path.read_text())
        if run.get("bench_run", {}).get("event") in ("schedule", "push"):
            commit = run["bench_run"]["head_commit"]
            for name, value in run["label_score_dict"].items():
                name = f"{archive}/" + name.replace("org.enso.benchmarks.generated.", "")
                points[name].append((commit["timestamp"], commit["id"], value))
    return {name: [[point[1:] for point in sorted(found)]] for name, found in points.items()}


READERS = {"numpy": asv_results, "scipy": asv_results, "enso": jmh_results}


def marked(archive, part, directory):
    """The windows of an archive's series with annotations in marks.json."""
    marks = json.loads((Path(__file__).parent / "marks.json").read_text())
    series = READERS[archive](directory, archive)
    for one in (one for one in marks if (one["archive"], one["part"]) == (archive, part)):
        windows = [found[one["start"] : one["start"] + one["points"]] for found in series.get(one["series"], [])]
        window = next((w for w in windows if len(w) == one["points"] and w[0][0] == one["first_commit"]), None)
        if window is None:
            raise SystemExit(f"archives.py: {directory} has not the series {one['series']} of marks.json; see MARKS.md for the commit")
        yield one["series"], [value for _, value in window], [set(one["marks"])]
