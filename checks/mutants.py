#!/usr/bin/env python3
"""Checks that tests of concurrency fail when the code has a mistake.

LIST is a TOML file next to a package's Cargo.toml. Each [[mutant]] replaces a text that occurs once
in one of the package's source files: it weakens an ordering, leaves out a step, or makes a step no
longer atomic. It names the test that must fail, and the tool that runs the test: loom, shuttle,
miri, or threads for a plain test. The test is in the library, or in the integration test that
`program` names. The mutants are made in a copy of the tree, in target/mutants. Exits with status 1
if a test passes with its mutant.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECONDS = 900

# Loom and shuttle explore many orders, so their tests are optimised, with debug assertions. Miri
# runs with several seeds.
TOOLS = {
    "loom": (["cargo", "test", "--release"], {"RUSTFLAGS": "--cfg loom -C debug-assertions"}),
    "shuttle": (["cargo", "test", "--release"], {"RUSTFLAGS": "--cfg shuttle -C debug-assertions"}),
    "threads": (["cargo", "test"], {}),
    "miri": (["cargo", "+nightly", "miri", "test"], {"MIRIFLAGS": "-Zmiri-many-seeds=0..16"}),
}


def mutated(text, old, new):
    """The text with the mistake. Raises ValueError unless `old` occurs once and `new` differs."""
    if text.count(old) != 1:
        raise ValueError(f"occurs {text.count(old)} times, not once: {old!r}")
    if old == new:
        raise ValueError(f"nothing is changed: {old!r}")
    return text.replace(old, new)


def failed(output, test):
    """True if a test program reports that the test failed; None if it did not run."""
    if f"test {test} ... FAILED" in output or f"test {test} - should panic ... FAILED" in output:
        return True
    if f"test {test} ... ok" in output:
        return False
    # Miri ends the program at undefined behaviour, in the middle of the test's line. A panic while
    # another unwinds ends it without that line.
    is_undefined = f"test {test} ... " in output and "Undefined Behavior" in output
    is_aborted = f"thread '{test}' " in output and "thread caused non-unwinding panic. aborting." in output
    return True if is_undefined or is_aborted else None


def copied(tree):
    """A copy of all files that git tracks or would add."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    shutil.rmtree(tree, ignore_errors=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, place = ROOT / name, tree / name
        if source.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


def run(tool, directory, package, program, test):
    """The output of a test of the copy, or None after the time limit.

    `program`: the integration test, None for the library's.
    """
    command, environment = TOOLS[tool]
    # A separate target directory: cargo would confuse the two packages, which have the same name.
    target = ROOT / "target/mutants-build" / tool
    command = [*command, "--locked", "-p", package, *(["--test", program] if program else ["--lib"]), "--target-dir", str(target), "--", "--exact", test]
    environment = {**os.environ, **environment}
    try:
        ended = subprocess.run(command, cwd=directory, env=environment, timeout=SECONDS, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ended.stdout
    except subprocess.TimeoutExpired:
        return None


def verdict(output, test):
    """A sentence, and true if the mutant was caught."""
    if output is None:
        return f"no result within {SECONDS} s", False
    match failed(output, test):
        case True:
            return "caught", True
        case False:
            return "NOT CAUGHT", False
        case None:
            return "the test did not run:\n" + "\n".join(output.splitlines()[-20:]), False


def problems(directory, mutants):
    """Mutants whose text cannot be replaced, because their code has changed, as sentences."""
    found = []
    for mutant in mutants:
        try:
            mutated((directory / "src" / mutant["file"]).read_text(), mutant["old"], mutant["new"])
        except (OSError, ValueError) as error:
            found.append(f"{mutant['file']}: {mutant['what']}: {error}")
    return found


def missed(place, package, mutants):
    """Number of mutants that their tests do not catch. Prints a line for each mutant."""
    tree = ROOT / "target/mutants"
    copied(tree)
    directory = tree / place.parent.relative_to(ROOT)
    count = 0
    for mutant in mutants:
        file = directory / "src" / mutant["file"]
        sound = file.read_text()
        try:
            file.write_text(mutated(sound, mutant["old"], mutant["new"]))
            output = run(mutant["tool"], directory, package, mutant.get("program"), mutant["test"])
            words, caught = verdict(output, mutant["test"])
        except ValueError as error:
            words, caught = f"{mutant['file']}: {error}", False
        file.write_text(sound)
        count += not caught
        print(f"{mutant['tool']} {mutant['test']}: {mutant['what']}: {words}", flush=True)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", metavar="LIST", nargs="+", type=Path)
    parser.add_argument("--only", metavar="TEXT", default="", help="only mutants whose test, tool or description contains TEXT")
    parser.add_argument("--check", action="store_true", help="only check that each text to replace occurs once; run nothing")
    arguments = parser.parse_args()
    total = bad = 0
    for place in arguments.lists:
        place = place.resolve()
        listed = tomllib.loads(place.read_text())
        mutants = [mutant for mutant in listed["mutant"] if any(arguments.only in mutant[key] for key in ("test", "tool", "what"))]
        total += len(mutants)
        if arguments.check:
            found = problems(place.parent, mutants)
            print(*found, sep="\n", end="\n" if found else "")
            bad += len(found)
        elif mutants:
            bad += missed(place, listed["package"], mutants)
    if not total:
        sys.exit(f"error: no mutant has {arguments.only!r}")
    print(f"{total - bad} of {total} mutants {'can be made' if arguments.check else 'caught'}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
