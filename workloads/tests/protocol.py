"""An independent parser of `faultline-workload 1` and `faultline-describe 1`, line by line, after
docs/FORMATS.md.
"""

import re

NUMBER = r"\d{1,20}"
WORD = r"[!-~]+"
TEXT = r"[!-~][ -~]*"

LINES = {
    "faultline-workload": rf"faultline-workload 1 ([a-z_]+)",
    "variant": rf"variant ([a-z0-9-]+)",
    "operation": rf"operation ({WORD})",
    "unit": rf"unit ({WORD})",
    "direction": r"direction (higher|lower)",
    "mode": r"mode (process|thread)",
    "tasks": rf"tasks ({NUMBER})",
    "bytes_per_operation": rf"bytes_per_operation ({NUMBER})",
    "note": rf"note ([a-z0-9_.]+) ({TEXT})",
    "ready": rf"ready ({NUMBER})",
    "warmup": rf"warmup ({NUMBER}) ({NUMBER})((?: {NUMBER})+)",
    "begin": rf"begin ({NUMBER})",
    "interval": rf"interval ({NUMBER}) ({NUMBER})((?: {NUMBER})+)",
    "end": rf"end ({NUMBER})",
    "usage": rf"usage (window|life) user_ns=({NUMBER}) system_ns=({NUMBER}) minor_faults=({NUMBER}) major_faults=({NUMBER})"
    rf" voluntary_switches=({NUMBER}) involuntary_switches=({NUMBER})",
    "counter": rf"counter ([a-zA-Z0-9_.:/()-]+) (-?{NUMBER})",
    "measure": rf"measure ([a-z0-9_]+) ({WORD}) (higher|lower) (-?\d+(?:\.\d+)?)",
    "failure": rf"failure (os|unsupported) ({WORD}) (\d+) ({TEXT})",
    "done": r"done",
}

HEADER = ["faultline-workload", "variant", "operation", "unit", "direction", "mode", "tasks"]


class Broken(Exception):
    """A line, or the order of lines, violates the format."""


class Output:
    """Parsed output of a workload."""

    def __init__(self):
        self.fields = {}
        self.notes = {}
        self.intervals = []  # (from, to, [operations])
        self.warmups = []
        self.usage = None
        self.usage_scope = None
        self.counters = {}
        self.measures = {}
        self.failure = None  # (kind, step, errno, text)
        self.done = False
        self.keywords = []

    def total(self):
        return sum(sum(operations) for _, _, operations in self.intervals)


def parse(text):
    if text and not text.endswith("\n"):
        raise Broken("the last line has no end")
    output = Output()
    for line in text.splitlines():
        keyword = line.split(" ", 1)[0]
        match = re.fullmatch(LINES.get(keyword, r"(?!)"), line)
        if match is None or len(line) >= 65536:
            raise Broken(f"not a line of the format: {line!r}")
        if output.failure or output.done:
            raise Broken(f"a line after the last: {line!r}")
        output.keywords.append(keyword)
        take(output, keyword, match.groups())
    check_order(output)
    return output


def take(output, keyword, groups):
    if keyword == "note":
        output.notes[groups[0]] = groups[1]
    elif keyword in ("warmup", "interval"):
        operations = [int(word) for word in groups[2].split()]
        if len(operations) != int(output.fields["tasks"]):
            raise Broken(f"{len(operations)} counts for {output.fields['tasks']} tasks")
        place = output.warmups if keyword == "warmup" else output.intervals
        place.append((int(groups[0]), int(groups[1]), operations))
    elif keyword == "usage":
        names = ["user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"]
        output.usage_scope = groups[0]
        output.usage = dict(zip(names, map(int, groups[1:])))
    elif keyword == "counter":
        if int(groups[1]) == 0 or groups[0] in output.counters:
            raise Broken(f"counter {groups[0]} is zero or doubled")
        output.counters[groups[0]] = int(groups[1])
    elif keyword == "measure":
        output.measures[groups[0]] = (groups[1], groups[2], float(groups[3]))
    elif keyword == "failure":
        output.failure = (groups[0], groups[1], int(groups[2]), groups[3])
    elif keyword == "done":
        output.done = True
    else:
        if keyword in output.fields:
            raise Broken(f"a second {keyword}")
        output.fields[keyword] = groups[0] if groups else ""


def check_order(output):
    words = [word for word in output.keywords if word != "note"]
    if output.keywords and output.keywords[0] != "faultline-workload":
        raise Broken("does not begin with its format")
    shape = " ".join(words)
    pattern = (
        " ".join(HEADER)
        + r"( bytes_per_operation)?( ready( warmup)*( begin( interval)*( end( (usage|counter|measure))*( done)?)?)?)?( failure)?"
    )
    if not re.fullmatch(pattern, shape):
        raise Broken(f"wrong order: {shape}")
    before = int(output.fields.get("ready", 0))
    for start, to, _ in output.warmups:
        if start < before or to <= start or (before != int(output.fields["ready"]) and start != before):
            raise Broken("the warm-up's bounds do not follow one another")
        before = to
    if "begin" in output.fields:
        begin = int(output.fields["begin"])
        if begin < before or (output.warmups and begin != before):
            raise Broken("the region does not begin where the warm-up ends")
        before = begin
    for start, to, _ in output.intervals:
        if start != before or to <= start:
            raise Broken("the intervals' bounds do not follow one another")
        before = to
    if output.intervals and "end" in output.fields and int(output.fields["end"]) != before:
        raise Broken("the region does not end where the last interval ends")


DESCRIBE = re.compile(
    r"faultline-describe 1 (?P<name>[a-z_]+)\n"
    rf"summary {TEXT}\n"
    rf"operation (?P<operation>{WORD})\n"
    rf"unit (?P<unit>{WORD})\n"
    r"direction (?P<direction>higher|lower)\n"
    r"style (?P<style>loop|once)\n"
    rf"window_ms {NUMBER}\n"
    rf"(size {NUMBER} {TEXT}\n)?"
    rf"(?P<variants>(variant [a-z0-9-]+ (process|thread|process,thread|thread,process) {TEXT}\n)+)"
    rf"(?P<size_ranges>(size_range [a-z0-9-]+ {NUMBER} {NUMBER}( once| each)?\n)*)"
    r"(role [a-z][a-z0-9_]*( optional)?\n)*"
    rf"(lens_operations (?P<lens_operations>[1-9]\d*)\n)?"
    r"(?P<variant_lens_operations>(lens_operations [1-9]\d* [a-z0-9-]+\n)*)"
    r"(?P<suites>(suite (quick|full) \d+( [a-z0-9-]+/(process|thread))*\n){2})"
    r"end\n"
)


def parse_describe(text):
    """(match, [(variant, [mode…])])"""
    match = DESCRIBE.fullmatch(text)
    if match is None:
        raise Broken(f"not a description: {text!r}")
    variants = [line.split(" ")[1:3] for line in match["variants"].splitlines()]
    return match, [(name, modes.split(",")) for name, modes in variants]


def parse_size_ranges(match):
    """{variant: (least, most, "once", "each" or None)}"""
    lines = [line.split(" ")[1:] for line in match["size_ranges"].splitlines()]
    return {name: (int(least), int(most), place[0] if place else None) for name, least, most, *place in lines}


def parse_suites(match):
    """{suite: (place, [variant/mode…])}"""
    lines = [line.split(" ")[1:] for line in match["suites"].splitlines()]
    return {name: (int(place), members) for name, place, *members in lines}
