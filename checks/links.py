#!/usr/bin/env python3
"""Finds dead links in the documents: missing files, pictures and headings. URLs are not checked."""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text):
    """Anchors of a document's headings, as the usual renderers make them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def dead(path, text, root):
    """Dead links of the document at `path`, as sentences."""
    found = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name) if name else path
        if not file.exists():
            found.append(f"{path.relative_to(root)}: {target} is not there")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(root)}: {target} has no such heading")
    return found


def main():
    root = Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], check=True,
                            stdout=subprocess.PIPE, cwd=root)
    paths = [root / name for name in listed.stdout.decode().split("\0") if name]
    found = [sentence for path in paths if path.exists() for sentence in dead(path, path.read_text(encoding="utf-8"), root)]
    for sentence in found:
        print(f"links: {sentence}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
