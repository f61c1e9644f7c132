#!/usr/bin/env python3
"""Draws docs/pictures/releases.svg (all workloads) and releases-few.svg (a selection), and writes
the table of docs/EXAMPLES.md, from `figures.json`, which figures.py makes. With --check it names
those that are out of date.
"""

import json
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PICTURE = DOCS / "pictures" / "releases.svg"
FEW_PICTURE = DOCS / "pictures" / "releases-few.svg"
TABLE = DOCS / "EXAMPLES.md"
BEGIN, END = "<!-- examples/linux-releases/draw.py begins -->\n", "<!-- examples/linux-releases/draw.py ends -->\n"

# Selected workloads of the memory system and of files.
FEW = (
    "zero_fill:base", "fault_existing:own-write", "fault_existing:shared", "file_cow:same",
    "map_churn:threads", "protect_churn:threads", "self_exec:static-distinct", "fork_exit:small",
)

# Pixels: of a panel with its title, and of the plot within it.
PANEL_WIDTH, PANEL_HEIGHT = 200, 132
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 46, 30, 138, 72
COLUMNS = 4
HEAD = 62

# A colour for each number of CPUs from two on; one CPU moves nothing between CPUs.
COLOURS = ("#b45309", "#1d4ed8", "#15803d", "#7e22ce")

STYLE = """<style>rect{fill:#fff}text{font:11px sans-serif;fill:#1b1b1b}text.title{font:bold 11px sans-serif}text.head{font:bold 14px sans-serif}text.axis{fill:#555;font-size:9px}
path,polyline{fill:none;stroke-width:1.6}path.axis{stroke:#bbb;stroke-width:1}</style>"""


def figure(value):
    """With three significant digits."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.1g}"


def short(release):
    """5.10 for 5.10.0-32."""
    return ".".join(release.split(".")[:2])


def value(found, name, release, cpus, which):
    point = found["workloads"][name]["figures"].get(release, {}).get(str(cpus))
    return point[which] if point else None


def table(found):
    """A row per selected workload and number of CPUs, with three figures of each release."""
    releases = found["releases"]
    yield "| workload | tasks | CPUs | " + " | ".join(
        f"{what} {short(release)}" for what in ("transfers", "instructions", "rate") for release in releases
    ) + " |"
    yield "|---|---|---:" + "|---:" * (3 * len(releases)) + "|"
    for name in FEW:
        tasks = {"thread": "threads", "process": "processes"}[found["workloads"][name]["mode"]]
        for cpus in (cpus for cpus in found["cpus"] if cpus > 1):
            cells = [
                figure(value(found, name, release, cpus, which)) for which in ("transfers", "instructions", "rate") for release in releases
            ]
            yield f"| `{name}` | {tasks} | {cpus} | " + " | ".join(cells) + " |"


def panel(found, name, colours):
    """The transfers of a workload by release, a line for each number of CPUs."""
    releases = found["releases"]
    lines = {cpus: [value(found, name, release, cpus, "transfers") for release in releases] for cpus in colours}
    greatest = max((count for line in lines.values() for count in line if count is not None), default=0)
    # Counts below a hundredth of a transfer appear as nothing.
    scale = max(greatest, 0.01)
    across = [LEFT + PLOT_WIDTH * (at / max(len(releases) - 1, 1)) for at in range(len(releases))]
    yield f'<text class="title" x="{LEFT}" y="18">{escape(name)}</text>'
    yield f'<path class="axis" d="M{LEFT},{TOP}V{TOP + PLOT_HEIGHT}H{LEFT + PLOT_WIDTH}"/>'
    yield f'<text class="axis" text-anchor="end" x="{LEFT - 4}" y="{TOP + 8}">{figure(greatest)}</text>'
    yield f'<text class="axis" text-anchor="end" x="{LEFT - 4}" y="{TOP + PLOT_HEIGHT}">0</text>'
    for x, release in zip(across, releases):
        yield f'<text class="axis" text-anchor="middle" x="{x:.1f}" y="{TOP + PLOT_HEIGHT + 12}">{escape(short(release))}</text>'
    for cpus, line in lines.items():
        points = [(x, TOP + PLOT_HEIGHT * (1 - count / scale)) for x, count in zip(across, line) if count is not None]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{text}" stroke="{colours[cpus]}"/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colours[cpus]}"/>'


def picture(found, names):
    colours = dict(zip((cpus for cpus in found["cpus"] if cpus > 1), COLOURS))
    rows = -(-len(names) // COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH + 20, HEAD + rows * PANEL_HEIGHT + 10
    title = "Transfers of cache lines per operation, by release of Linux"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    yield f'<title>{title}</title>{STYLE}<rect width="{width}" height="{height}"/>'
    yield f'<text class="head" x="14" y="26">{title}</text>'
    for number, (cpus, colour) in enumerate(colours.items()):
        yield f'<circle cx="{20 + 80 * number}" cy="44" r="4" fill="{colour}"/><text x="{28 + 80 * number}" y="48">{cpus} CPUs</text>'
    for number, name in enumerate(names):
        x, y = 10 + number % COLUMNS * PANEL_WIDTH, HEAD + number // COLUMNS * PANEL_HEIGHT
        yield f'<g transform="translate({x},{y})">'
        yield from panel(found, name, colours)
        yield "</g>"
    yield "</svg>"


def main():
    found = json.loads((HERE / "figures.json").read_text(encoding="utf-8"))
    text = TABLE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = {
        PICTURE: "\n".join(picture(found, sorted(found["workloads"]))) + "\n",
        FEW_PICTURE: "\n".join(picture(found, FEW)) + "\n",
        TABLE: before + BEGIN + "\n".join(table(found)) + "\n" + END + after,
    }
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for path, content in wanted.items():
        if not sys.argv[1:]:
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            sys.exit(f"{path.relative_to(HERE.parents[1])} is out of date; hint: examples/linux-releases/draw.py")


if __name__ == "__main__":
    main()
