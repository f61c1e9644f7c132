#!/usr/bin/env python3
"""Counts wordings that are hard to read, and comment lines above 100 columns, per top directory.

    checks/words.py                fails if a count is above its bound in words.toml
    checks/words.py --list [PATH]  prints each finding as file:line, then the counts per directory
    checks/words.py --tighten      lowers the bounds to today's counts; adds directories that have none

Reads comments, doc comments, messages and help texts (Rust, C, TypeScript, Python, shell), comments
of TOML, SQL and CSS, and Markdown. Strings of tests and everything between backticks are left out.
"""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import circles

WIDEST = 100
KINDS = ("wordings", "wide")
OPENING = re.compile(r"(?:What|How(?! to\b)|Whether|That of|Those of|The same|Who|Whoever|It is|There is)\b")
WORD = re.compile(r"\b(?:nobody|somebody|told|said so|of so much|by turns|once more|anew|alike|that is to say)\b", re.IGNORECASE)
# A genitive where English has a compound noun: anywhere, and in headings.
GENITIVE = re.compile(r"\b(?:servers? of SSH|(?:servers?|ports?|lines?|file systems?) of (?:QEMU|TCP|UDP|HTTP|caches?)|ways to log in)\b")
HEADING = re.compile(r"(?:The )?(?:page|list|table|plan|facts?|keys|format|rows?|output|files?|shape) of (?:an? |the |each )?\w+$", re.IGNORECASE)
CODE = re.compile(r"`[^`\n]*`")
MARKS = re.compile(r"^[\s/*!#>|\-+]*(?:\d+\.\s+)?[*_\"(\[]*")

BLOCK = r"(?P<block>/\*.*?\*/)"
STRING = r"\"(?:[^\"\\]|\\.)*\""
C = rf"(?P<line>//[^\n]*)|{BLOCK}|(?P<text>{STRING})|'(?:[^'\\\n]|\\[^\n]{{1,10}}?)'"
HASH = r"(?P<line>(?<![^\s;])\#[^\n]*)"
# For each language: comments as `line` or `block`, strings as `text`; what else a quote may begin
# is skipped.
SYNTAX = {
    ".rs": re.compile(rf"(?P<line>//[^\n]*)|{BLOCK}|(?P<text>(?<!\w)b?r(?P<fence>#*)\".*?\"(?P=fence)|{STRING})|'(?:[^'\\\n]|\\[^\n]{{1,10}}?)'", re.DOTALL),
    ".c": re.compile(C, re.DOTALL),
    ".ts": re.compile(rf"(?P<line>(?<!:)//[^\n]*)|{BLOCK}|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)", re.DOTALL),
    ".py": re.compile(r"(?P<line>#[^\n]*)|(?P<block>(?<=\n)\s*r?\"\"\".*?\"\"\"|\A(?:#![^\n]*\n)?\"\"\".*?\"\"\")"
                      r"|(?P<text>'''.*?'''|\"\"\".*?\"\"\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')", re.DOTALL),
    ".sh": re.compile(rf"{HASH}|(?P<text>{STRING}|'[^']*')", re.DOTALL),
    ".toml": re.compile(rf"{HASH}|\"\"\".*?\"\"\"|'{{3}}.*?'{{3}}|{STRING}|'[^'\n]*'", re.DOTALL),
    ".sql": re.compile(rf"(?P<line>--[^\n]*)|{BLOCK}|'[^']*'", re.DOTALL),
    ".css": re.compile(rf"{BLOCK}|{STRING}|'[^'\n]*'", re.DOTALL),
}
SYNTAX |= {".h": SYNTAX[".c"], ".mjs": SYNTAX[".ts"], ".tsx": SYNTAX[".ts"], "Makefile": SYNTAX[".sh"], ".mk": SYNTAX[".sh"]}
FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


def blank(match):
    """White space with the line breaks of the matched text, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group())


def texts(name, content):
    """The prose of a file: number of its first line, text, and kind (comment, message or prose)."""
    path = Path(name)
    if path.suffix == ".md":
        yield 1, FENCED.sub(blank, content), "prose"
        return
    test = "test" in name
    strings_from = circles.TEST_ITEM.sub(blank, content) if path.suffix == ".rs" else content
    for match in SYNTAX[path.suffix or path.name].finditer(content):
        number = content.count("\n", 0, match.start()) + 1
        found = match.groupdict()
        if found.get("line") or found.get("block"):
            yield number, match.group(), "comment"
        elif found.get("text") and not test and strings_from[match.start()] == content[match.start()]:
            yield number, found["text"].strip("\"'`br#"), "message"


def findings(name, content):
    """The findings in a file: line number, kind and line."""
    lines = content.split("\n")
    for number, text, source in texts(name, content):
        for offset, line in enumerate(text.split("\n")):
            raw = lines[number - 1 + offset]
            plain = CODE.sub("``", line)
            bare = MARKS.sub("", plain)
            heading = source == "prose" and raw.startswith("#") and HEADING.match(bare.strip())
            if OPENING.match(bare) or WORD.search(plain) or GENITIVE.search(plain) or heading:
                yield number + offset, "wordings", raw.strip()
            if source == "comment" and len(raw) > WIDEST and (offset > 0 or raw.lstrip().startswith(text[:2].lstrip())):
                yield number + offset, "wide", raw.strip()


def files(root, below="."):
    """Tracked and new files with prose, except this one, which contains the wordings."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", below]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=root).stdout.decode().split("\0")
    known = {".md"} | set(SYNTAX)
    for name in sorted(set(filter(None, listed))):
        path = Path(name)
        if (path.suffix or path.name) in known and (root / path).is_file() and not path.name.endswith("words.py"):
            yield name


def counted(root, below=".", show=None):
    """Counts per top directory; `.` is the root's own files."""
    counts = {}
    for name in files(root, below):
        top = name.partition("/")[0] if "/" in name else "."
        counts.setdefault(top, Counter())
        for number, kind, line in findings(name, (root / name).read_text(encoding="utf-8", errors="replace")):
            counts[top][kind] += 1
            if show:
                show(f"{name}:{number}: {kind}: {line}")
    return counts


def beyond(counts, bounds):
    """Sentences about counts that are above their bounds, and about bounds that can be lowered."""
    above, lower = [], []
    for top, found in sorted(counts.items()):
        for kind in KINDS:
            bound = bounds.get(top, {}).get(kind)
            if bound is None:
                above.append(f"{top} has no bound for {kind}; --tighten adds it")
            elif found[kind] > bound:
                above.append(f"{top}: {found[kind]} {kind}, and {bound} are allowed; --list {top} shows them")
            elif found[kind] < bound:
                lower.append(f"{top}: {found[kind]} {kind}, below the bound of {bound}")
    return above, lower


def written(counts, bounds):
    """words.toml with bounds no higher than today's counts."""
    rows = ["# Upper bounds of checks/words.py per top directory. They only fall: checks/words.py --tighten."]
    for top, found in sorted(counts.items()):
        values = (f"{kind} = {min(found[kind], bounds.get(top, {}).get(kind, found[kind]))}" for kind in KINDS)
        rows.append(f'"{top}" = {{ {", ".join(values)} }}')
    return "\n".join(rows) + "\n"


def main(arguments):
    root = Path(__file__).resolve().parent.parent
    table = Path(__file__).with_name("words.toml")
    bounds = tomllib.loads(table.read_text(encoding="utf-8")) if table.exists() else {}
    if arguments[:1] == ["--list"]:
        for top, found in sorted(counted(root, *arguments[1:2] or ["."], show=print).items()):
            print(f"{top}: {', '.join(f'{found[kind]} {kind}' for kind in KINDS)}")
        return 0
    counts = counted(root)
    above, lower = beyond(counts, bounds)
    if arguments == ["--tighten"]:
        table.write_text(written(counts, bounds), encoding="utf-8")
        return 0
    for sentence in lower:
        print(f"words: {sentence}; --tighten lowers it")
    for sentence in above:
        print(f"words: {sentence}", file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
