#!/usr/bin/env python3
"""Checks the dependencies between crates (ARCHITECTURE.md, "Dependencies between crates").

Reads `cargo metadata` of the workspaces of lab, memory system and plugin, prints each dependency
that is not allowed, and exits with 1 if there is one. A crate outside the table is an error too.
Dependencies for tests and builds count as well, except that tests may read the database.
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "faultline-cli": {"experiment", "history", "runner", "targets", "stats", "report", "exchange", "record", "coherence", "web"},
    "faultline-web": {"experiment", "stats", "report", "record"},
    "faultline-experiment": {"runner", "targets", "symbols", "stats", "store", "exchange", "record", "coherence"},
    "faultline-history": {"experiment", "runner", "targets", "symbols", "stats", "record"},
    "faultline-simulation": {"experiment", "history", "runner", "targets", "stats", "store", "record", "lens-format"},
    "faultline-runner": {"targets", "symbols", "record", "lens-format"},
    "faultline-targets": {"coherence", "record", "lens-format"},
    "faultline-stats": {"record", "lens-format"},
    "faultline-store": {"record"},
    "faultline-symbols": {"record", "lens-format"},
    "faultline-report": {"stats", "record"},
    "faultline-exchange": {"stats", "record"},
    "faultline-record": {"lens-format"},
    "faultline-coherence": {"lens-format"},
    "faultline-lens-format": set(),
    "faultline-lens": {"coherence", "lens-format"},
    "faultline-numbers": set(),
    "faultline-frames": {"numbers"},
    "faultline-memory": {"frames", "numbers"},
    "faultline-frames-embedding": {"frames"},
    "faultline-memory-embedding": {"frames", "memory"},
    "faultline-pmap": {"memory", "numbers"},
    "faultline-pmap-embedding": {"memory", "pmap"},
    "faultline-pmap-hosted": {"memory", "pmap"},
    "faultline-pmap-machine": {"frames", "memory", "pmap"},
    "faultline-pmap-programs": {"frames", "pmap-hosted"},
    "faultline-frame-designs": {"frames", "memory"},
}

# Further crates that a crate's tests may use.
ALLOWED_IN_TESTS = {
    "faultline-cli": {"store", "lens-format"},
    "faultline-web": {"store", "lens-format"},
    "faultline-store": {"stats", "lens-format"},
    "faultline-experiment": {"lens-format"},
    "faultline-report": {"lens-format"},
}

WORKSPACES = ["Cargo.toml", "vm/Cargo.toml", "lens/plugin/Cargo.toml"]

# Crates that know arguments, a terminal or signals: only front ends may use them.
FRONT_END_ONLY = {"clap", "clap_complete", "clap_mangen", "ctrlc", "indicatif", "terminal_size"}
BELOW_FRONT_ENDS = {"faultline-web", "faultline-experiment", "faultline-history", "faultline-report"}
BELOW_FRONT_ENDS |= {f"faultline-{crate}" for crate in ALLOWED["faultline-experiment"]}

# The QEMU plugin: a separate workspace, GPL-2.0-or-later.
APART = "faultline-lens"

# Uses that would give a pure crate its own clock, file or random number.
PURE = {"faultline-record", "faultline-stats", "faultline-exchange", "faultline-coherence",
        "faultline-lens-format", "faultline-frames", "faultline-memory", "faultline-numbers", "faultline-pmap"}
IMPURE = re.compile(r"""
    \bstd::(?:\{[^}]*\b)?(?:fs|env|net|process)\b            # std::fs::…, use std::{cmp, fs}
  | \bstd::time::(?:\{[^}]*\b)?(?:SystemTime|Instant)\b
  | \b(?:SystemTime|Instant)::now\b
  | \b(?:rand::rng|thread_rng|from_entropy|from_os_rng)\b
""", re.VERBOSE)

# Crates that use the clock passed to them, and the one file that reads the system's clock.
GIVEN_A_CLOCK = {"faultline-experiment", "faultline-runner"}
SYSTEM_CLOCK = "src/clock.rs"
CLOCK = re.compile(r"\b(?:SystemTime|Instant)\b")
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\(crate\))? )?mod \w+ \{\n.*?^\}", re.MULTILINE | re.DOTALL)


def crossings(metadata):
    """Forbidden dependencies, as sentences. `metadata` is parsed `cargo metadata --no-deps`."""
    names = {package["name"] for package in metadata["packages"]}
    found = []
    for package in metadata["packages"]:
        name = package["name"]
        if name not in ALLOWED:
            found.append(f"{name}: not in the table of checks/arrows.py: add the crates that it may use")
            continue
        allowed = {f"faultline-{crate}" for crate in ALLOWED[name]}
        in_tests = {f"faultline-{crate}" for crate in ALLOWED_IN_TESTS.get(name, set())}
        if any(dependency["name"] == APART for dependency in package["dependencies"]):
            found.append(f"{name} → {APART}: nothing may link to the plugin, because of its licence")
        for dependency in package["dependencies"]:
            may = allowed | in_tests if dependency.get("kind") == "dev" else allowed
            if dependency["name"] in FRONT_END_ONLY and name in BELOW_FRONT_ENDS:
                found.append(f"{name} → {dependency['name']}: only front ends may use arguments, terminals and signals")
            if dependency["name"] in names and dependency["name"] not in may:
                found.append(f"{name} → {dependency['name']}: this dependency is not allowed")
    return sorted(set(found))


def impurities(name, path, text):
    """Uses of the outside world in a pure crate, as sentences. Test modules may use it."""
    return [f"{name}: {path} uses {found.group()}" for found in IMPURE.finditer(TESTS.sub("", text))]


def clock_readings(name, path, text):
    """Uses of the system's clock in a crate that is passed one, as sentences. Test modules may."""
    if str(path) == SYSTEM_CLOCK:
        return []
    return [f"{name}: {path} uses {found.group()} instead of the clock passed to it" for found in CLOCK.finditer(TESTS.sub("", text))]


def sources(package):
    """Path and text of each source file of a package's library."""
    from pathlib import Path
    root = Path(package["manifest_path"]).parent / "src"
    for path in sorted(root.rglob("*.rs")):
        if path.name != "tests.rs":
            yield path.relative_to(root.parent), path.read_text(encoding="utf-8")


def main():
    metadata = {"packages": []}
    for workspace in WORKSPACES:
        command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--manifest-path", workspace]
        metadata["packages"] += json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    found = crossings(metadata)
    for package in metadata["packages"]:
        if package["name"] in PURE:
            for path, text in sources(package):
                found += impurities(package["name"], path, text)
        if package["name"] in GIVEN_A_CLOCK:
            for path, text in sources(package):
                found += clock_readings(package["name"], path, text)
    for sentence in found:
        print(f"arrows: {sentence}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
