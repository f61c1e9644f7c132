#!/usr/bin/env python3
"""Checks that tests of concurrency fail when the code has a mistake: mutants.py LIST [--only TEXT].

LIST is a TOML file next to a package's Cargo.toml. Each [[mutant]] replaces a text that occurs once in one of the package's source files, by
which an ordering is weakened, or a step is left out or is no longer atomic, and names the test that must fail, and the tool that runs it: loom,
shuttle, miri, or threads for a plain test. A test is of the library, or of the program of tests that `program` names. The mutants are made in a copy of the tree, in target/mutants. Exits with status 1 if a test passes with its mutant. --only:
those whose test, tool or description contains TEXT.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECONDS = 900

# Loom and shuttle explore many orders, so with optimisation; and assertions of debug builds find mistakes. Miri runs with several seeds.
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
    """Whether the output of a test program says that the test failed. None if it did not run."""
    if f"test {test} ... FAILED" in output or f"test {test} - should panic ... FAILED" in output:
        return True
    if f"test {test} ... ok" in output:
        return False
    # Miri ends the program at undefined behaviour, in the middle of the test's line. A panic while another unwinds ends it without that line.
    is_undefined = f"test {test} ... " in output and "Undefined Behavior" in output
    is_aborted = f"thread '{test}' " in output and "thread caused non-unwinding panic. aborting." in output
    return True if is_undefined or is_aborted else None


def copied(tree):
    """A copy of the files that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    shutil.rmtree(tree, ignore_errors=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, place = ROOT / name, tree / name
        if source.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


def run(tool, package, program, test):
    """The output of the test of the copy, or None if it took too long. `program`: the program of tests, None for the library's."""
    command, environment = TOOLS[tool]
    # Apart from those of the tree itself: cargo gives both packages the same names there, and would take one for the other.
    target = ROOT / "target/mutants-build" / tool
    command = [*command, "--locked", "-p", package, *(["--test", program] if program else ["--lib"]), "--target-dir", str(target), "--", "--exact", test]
    environment = {**os.environ, **environment}
    try:
        ended = subprocess.run(command, cwd=ROOT / "target/mutants", env=environment, timeout=SECONDS, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ended.stdout
    except subprocess.TimeoutExpired:
        return None


def verdict(output, test):
    """A sentence, and whether the mutant was caught."""
    if output is None:
        return f"no result within {SECONDS} s", False
    match failed(output, test):
        case True:
            return "caught", True
        case False:
            return "NOT CAUGHT", False
        case None:
            return "the test did not run:\n" + "\n".join(output.splitlines()[-20:]), False


def main():
    if len(sys.argv) not in (2, 4) or sys.argv[2:3] not in ([], ["--only"]):
        sys.exit(__doc__)
    place = Path(sys.argv[1]).resolve()
    only = sys.argv[3] if len(sys.argv) == 4 else ""
    listed = tomllib.loads(place.read_text())
    mutants = [mutant for mutant in listed["mutant"] if any(only in mutant[key] for key in ("test", "tool", "what"))]
    if not mutants:
        sys.exit(f"error: no mutant of {place} has {only!r}")
    tree = ROOT / "target/mutants"
    copied(tree)
    sources = tree / place.parent.relative_to(ROOT) / "src"
    missed = 0
    for mutant in mutants:
        file = sources / mutant["file"]
        sound = file.read_text()
        try:
            file.write_text(mutated(sound, mutant["old"], mutant["new"]))
            words, caught = verdict(run(mutant["tool"], listed["package"], mutant.get("program"), mutant["test"]), mutant["test"])
        except ValueError as error:
            words, caught = f"{mutant['file']}: {error}", False
        file.write_text(sound)
        missed += not caught
        print(f"{mutant['tool']} {mutant['test']}: {mutant['what']}: {words}", flush=True)
    print(f"{len(mutants) - missed} of {len(mutants)} mutants caught")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
