#!/usr/bin/env python3
"""Builds the documentation as a searchable site in target/site, and checks its links.

    packages/site.py            builds mdBook once (3 minutes), then the site (a second)
    packages/site.py --check    checks that docs/SUMMARY.md lists all documents

docs/SUMMARY.md lists the pages. They keep their places in the repository, and so do the files to
which they link, so a link needs no rewriting.
"""

import os
import posixpath
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
import links

VERSION = "0.5.4"
TOOLS = ROOT / "target/tools/mdbook"
SOURCE = ROOT / "target/site-source"
SITE = ROOT / "target/site"


def targets(text):
    """Files that a page links to, as written, without anchors and addresses of other sites."""
    for target in links.LINK.findall(links.FENCE.sub("", text)):
        name = target.partition("#")[0]
        if name and not urlsplit(target).scheme:
            yield name


def resolved(page, target):
    """The path in the repository that `target` of the page at the path `page` names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def summary(text):
    """SUMMARY.md with paths from the top of the repository, and these paths."""
    pages = [resolved("docs/SUMMARY.md", target) for target in targets(text)]
    moved = links.LINK.sub(lambda match: match.group().replace(f"({match[1]})", f"({resolved('docs/SUMMARY.md', match[1])})"), text)
    return moved, pages


def gather(root, source):
    """Copies the listed pages and the files that they link to. Returns sentences about faults."""
    moved, pages = summary((root / "docs/SUMMARY.md").read_text(encoding="utf-8"))
    known, problems = set(pages), []
    for document in sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")):
        if document not in known and document != "docs/SUMMARY.md":
            problems.append(f"{document}: docs/SUMMARY.md does not list it")
    files = set(pages)
    for page in pages:
        for target in targets((root / page).read_text(encoding="utf-8")):
            file = resolved(page, target)
            if (root / file).is_dir():
                problems.append(f"{page}: {target} is a directory; link to a file in it")
            elif file.endswith(".md") and file not in known:
                problems.append(f"{page}: {target} is not a page of the site; docs/SUMMARY.md does not list it")
            else:
                files.add(file)
    for file in sorted(files):
        copy = source / "src" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / file, copy)
    (source / "src/SUMMARY.md").write_text(moved, encoding="utf-8")
    for file in ("docs/book.toml", "packages/site.css", "packages/site.js"):
        shutil.copy(root / file, source)
    return problems


class Page(HTMLParser):
    """Anchors of a page, and the addresses that it uses."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.used = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.used.append(value)


def dead(site):
    """Dead links between the pages of a built site, as sentences."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for address in page.used:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            file = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            if not file.is_file() or site not in file.parents:
                problems.append(f"{path.relative_to(site)}: {address} is not there")
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
                problems.append(f"{path.relative_to(site)}: {address} has no such heading")
    return problems


def mdbook():
    """The pinned mdBook, built from its sources if it is not there yet."""
    program = TOOLS / "bin/mdbook"
    there = program.exists() and subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if not there or VERSION not in there:
        print(f"building mdBook {VERSION} into {TOOLS.relative_to(ROOT)}; once", file=sys.stderr)
        subprocess.run(["cargo", "install", "--quiet", "--locked", "--root", TOOLS, "--version", VERSION, "--no-default-features",
                        "--features", "search", "mdbook"], check=True, cwd=ROOT)
    return program


def main(arguments):
    if arguments == ["--check"]:
        with tempfile.TemporaryDirectory() as place:
            problems = gather(ROOT, Path(place))
    else:
        shutil.rmtree(SOURCE, ignore_errors=True)
        problems = gather(ROOT, SOURCE)
        subprocess.run([mdbook(), "build", SOURCE], check=True)
        problems += dead(SITE)
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
