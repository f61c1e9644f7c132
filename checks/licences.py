#!/usr/bin/env python3
"""Checks that everything linked or bundled has a permissive licence; exits with 1 otherwise.

Rust: every package in the resolved graph of `cargo metadata`. Node: every package in the lock
files. An expression passes if one alternative of its OR has only permitted licences in its ANDs.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PERMITTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT",
    "MIT-0", "Unicode-3.0", "Unlicense", "Zlib", "BlueOak-1.0.0", "Python-2.0", "bzip2-1.0.6",
}

# axe-core: used by tests, not shipped. faultline-lens: ours, loaded into QEMU, kept apart.
EXCEPTIONS = {"axe-core": "MPL-2.0", "faultline-lens": "GPL-2.0-or-later"}

MANIFESTS = ["Cargo.toml", "vm/Cargo.toml", "lens/plugin/Cargo.toml"]

LOCKS = ["lab/report/page/package-lock.json"]


def permitted(expression):
    """True if permitted licences satisfy an SPDX expression. `MIT/Apache-2.0` means OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    value, rest = _any(tokens)
    return value and not rest


def _any(tokens):
    value, tokens = _all(tokens)
    while tokens and tokens[0] == "OR":
        right, tokens = _all(tokens[1:])
        value = value or right
    return value, tokens


def _all(tokens):
    value, tokens = _one(tokens)
    while tokens and tokens[0] == "AND":
        right, tokens = _one(tokens[1:])
        value = value and right
    return value, tokens


def _one(tokens):
    if not tokens:
        return False, tokens
    if tokens[0] == "(":
        value, tokens = _any(tokens[1:])
        return value and tokens[:1] == [")"], tokens[1:]
    if tokens[1:2] == ["WITH"]:
        return " ".join(tokens[:3]) in PERMITTED, tokens[3:]
    return tokens[0] in PERMITTED, tokens[1:]


def rust_packages():
    """Name and licence of every Rust package that is built."""
    return [package for manifest in MANIFESTS for package in packages_of(manifest)]


def packages_of(manifest):
    """Name and licence of every package of a workspace."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", manifest]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return [(package["name"], package["license"] or "none") for package in metadata["packages"]]


def node_packages(lock):
    """Name and licence of every package in a lock file."""
    entries = json.loads(Path(lock).read_text(encoding="utf-8"))["packages"]
    return [(path.split("node_modules/")[-1], entry.get("license", "none")) for path, entry in entries.items() if path]


def refused(packages):
    """The packages whose licence is not permitted, as sentences."""
    return sorted({f"{name}: {licence}" for name, licence in packages
                   if EXCEPTIONS.get(name) != licence and not permitted(licence)})


def main():
    packages = rust_packages() + [package for lock in LOCKS for package in node_packages(lock)]
    found = refused(packages)
    for sentence in found:
        print(f"licences: {sentence} is not among the permitted ones", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
