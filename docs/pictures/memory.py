#!/usr/bin/env python3
"""Draws the pictures of docs/MEMORY.md beside itself; --check names those that are out of date."""

import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 176, 46  # of a box, in pixels
COLUMN, ROW = 284, 96  # from a box to the next

STYLE = """<style>
rect.page{fill:#fff}rect.box{fill:#eef3fb;stroke:#3b5b8c}rect.cpu{fill:#fdf3e1;stroke:#9a6a14}rect.out{fill:#eaf6ec;stroke:#2f7a3d}
text{font:13px sans-serif;fill:#1b1b1b;text-anchor:middle}text.note,text.way{font-size:11px;fill:#444}text.way{paint-order:stroke;stroke:#fff;stroke-width:4px}path{fill:none;stroke:#444;stroke-width:1.3;marker-end:url(#head)}
</style><defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0L8,4L0,8z" style="fill:#444;stroke:none"/></marker></defs>"""


def centre(place):
    column, row = place
    return 20 + WIDTH / 2 + column * COLUMN, 20 + HEIGHT / 2 + row * ROW


def edge(start, end):
    """Where the line from the middle of a box to another point leaves the box."""
    (x, y), (to_x, to_y) = start, end
    across, down = to_x - x, to_y - y
    scale = min(WIDTH / 2 / abs(across) if across else 1e9, HEIGHT / 2 / abs(down) if down else 1e9)
    return x + across * scale, y + down * scale


def box(place, words, kind):
    x, y = centre(place)
    first, _, second = words.partition("\n")
    yield f'<rect class="{kind}" x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
    yield f'<text x="{x:g}" y="{y + (4 if not second else -3):g}">{escape(first)}</text>'
    if second:
        yield f'<text class="note" x="{x:g}" y="{y + 14:g}">{escape(second)}</text>'


def arrow(boxes, start, end, words, bend=0):
    begin, finish = centre(boxes[start][0]), centre(boxes[end][0])
    across, down = finish[0] - begin[0], finish[1] - begin[1]
    length = (across * across + down * down) ** 0.5
    # To the left of the arrow's direction, so that two arrows between two boxes bend apart.
    middle = (begin[0] + finish[0]) / 2 + bend * down / length, (begin[1] + finish[1]) / 2 - bend * across / length
    (x, y), (to_x, to_y) = edge(begin, middle), edge(finish, middle)
    yield f'<path d="M{x:g},{y:g}Q{middle[0]:g},{middle[1]:g} {to_x:g},{to_y:g}"/>'
    label = (x + 2 * middle[0] + to_x) / 4, (y + 2 * middle[1] + to_y) / 4
    for line, text in enumerate(words.split("\n")):
        if text:
            yield f'<text class="way" x="{label[0]:g}" y="{label[1] - 4 + 12 * line:g}">{escape(text)}</text>'


def picture(title, boxes, arrows):
    columns, rows = (1 + max(place[axis] for place, _, _ in boxes.values()) for axis in (0, 1))
    width, height = columns * COLUMN - COLUMN + WIDTH + 40, rows * ROW - ROW + HEIGHT + 40
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">'
    yield f"<title>{escape(title)}</title>{STYLE}"
    yield f'<rect class="page" width="{width:g}" height="{height:g}"/>'
    for start, end, words, *bend in arrows:
        yield from arrow(boxes, start, end, words, *bend)
    for place, words, kind in boxes.values():
        yield from box(place, words, kind)
    yield "</svg>"


def ways():
    boxes = {
        "cpu": ((0, 0), "CPU\nfault", "cpu"),
        "tree": ((1, 0), "tree of a space\nread only", "box"),
        "slot": ((2, 0), "slot\nlocked", "box"),
        "entry": ((3, 0), "page-table entry\none compare-and-swap", "out"),
        "mapping": ((2, 1), "mapping\nof one call", "box"),
        "object": ((2, 2), "object\nradix tree of pages", "box"),
        "record": ((3, 2), "record of a frame\nstate, home, place", "box"),
        "family": ((1, 1), "family\nspaces of forks", "box"),
        "daemon": ((3, 3), "page daemon\nhand over frames", "cpu"),
        "pager": ((2, 3), "pager\nfile, swap area", "out"),
    }
    arrows = [
        ("cpu", "tree", ""), ("tree", "slot", ""), ("slot", "entry", "private page"), ("slot", "mapping", "object's page"),
        ("mapping", "object", "", 60), ("object", "record", "", 60), ("record", "entry", "resident:\nonly read"),
        ("daemon", "record", "busy"), ("record", "family", "home of a private page", 210), ("mapping", "family", ""),
        ("family", "tree", "each space"), ("daemon", "pager", "transfer"), ("object", "mapping", "index by page", 60), ("record", "object", "home", 60),
    ]
    return picture("From a fault to a page, and from a page back to all that have it", boxes, arrows)


def life():
    boxes = {
        "free": ((0, 1), "free\nno owner", "out"),
        "filled": ((1, 1), "busy, not valid\nbeing filled or read", "box"),
        "failed": ((1, 2), "failed\ncould not be read", "box"),
        "valid": ((2, 1), "valid\nclean or dirty", "box"),
        "busy": ((3, 1), "busy, valid\nheld by who takes it away", "box"),
        "written": ((3, 0), "in transfer\nbeing written", "box"),
        "queues": ((2, 0), "active, inactive, laundry\nparts of the state", "box"),
    }
    arrows = [
        ("free", "filled", "claim"), ("filled", "valid", "filled"), ("filled", "failed", "failed"),
        ("failed", "free", "last release"), ("valid", "busy", "busy", 24), ("busy", "valid", "unbusy", 24), ("busy", "written", "transfer"),
        ("written", "valid", "cleaned, unbusy"), ("valid", "queues", "move"),
        ("valid", "free", "last release", -110),
    ]
    return picture("The life of a page", boxes, arrows)


PICTURES = {"memory-ways.svg": ways, "memory-page.svg": life}


def main():
    folder, stale = Path(__file__).resolve().parent, []
    for name, draw in PICTURES.items():
        text = "\n".join(draw()) + "\n"
        path = folder / name
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/pictures/{name} is out of date; hint: docs/pictures/memory.py draws it", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
