#!/usr/bin/env python3
"""Makes a release in target/dist: archives, packages, an image, checksums, SBOM and provenance.

    release.py                    of the tag at HEAD; the checkout must have no changes
    release.py --version 0.2.0-x  for trying: of the checkout as it is, without a tag
    release.py --draft            for tests: only the archive, of what `make guest lens` built

Two runs over the same programs write the same bytes (--built DIRECTORY packs what an earlier run
built).
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import archive
import deb
import formula
import image
import provenance
import rpm
import sbom
import tree

ROOT = Path(__file__).resolve().parent.parent.parent
ARCHITECTURES = ["x86_64", "aarch64"]
LARGEST_COMMAND = 25_000_000
VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")


class Refused(Exception):
    """The request is wrong: the problem, and a hint."""


def output(*words, cwd=ROOT):
    """Output of a command that must succeed."""
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def declared_version(root):
    """The version in Cargo.toml."""
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def version_of(root, wanted):
    """The version to release and if it is tagged. Refuses a checkout that is not exactly a tag."""
    if wanted:
        if not VERSION.fullmatch(wanted):
            raise Refused(f"'{wanted}' is no version", "for example VERSION=0.2.0-try1")
        return wanted, False
    if output("git", "status", "--porcelain", cwd=root):
        raise Refused("the checkout has changes", "commit them and tag the commit; VERSION=… tries a release without a tag")
    tags = [tag for tag in output("git", "tag", "--points-at", "HEAD", cwd=root).split() if VERSION.fullmatch(tag.removeprefix("v"))]
    if len(tags) != 1 or not tags[0].startswith("v"):
        raise Refused("HEAD is not tagged with a version", "git tag v0.1.0; VERSION=… tries a release without a tag")
    declared = declared_version(root)
    if tags[0] != f"v{declared}":
        raise Refused(f"the tag is {tags[0]}, but Cargo.toml says {declared}", "change the version in Cargo.toml, commit, and tag that")
    return declared, True


def repository_of(root):
    """The forge's address of this repository: of the environment, or else of the remote."""
    found = os.environ.get("REPOSITORY") or subprocess.run(
        ["git", "config", "remote.origin.url"], cwd=root, stdout=subprocess.PIPE, text=True).stdout.strip()
    found = re.sub(r"^git@([^:]+):", r"https://\1/", found).removesuffix(".git")
    return found if found.startswith("https://") else "https://github.com/OWNER/faultline"


def check_command(file):
    """Fails unless the command is small, linked statically, and free of this machine's paths."""
    size = file.stat().st_size
    if size > LARGEST_COMMAND:
        raise Refused(f"the command has {size / 1e6:.1f} MB, more than {LARGEST_COMMAND / 1e6:.0f} MB", "look for a new dependency")
    if "INTERP" in output("readelf", "--program-headers", file):
        raise Refused("the command is linked dynamically", "packages/release/build.sh should build for musl")
    content = file.read_bytes()
    for path in {str(ROOT), str(Path.home() / ".cargo"), os.environ.get("CARGO_HOME") or str(ROOT)}:
        if len(path) > 2 and path.encode() + b"/" in content:
            raise Refused(f"the command contains the path {path}", "packages/release/build.sh should replace it")


def make_of(arch, built, documented_by, of, out):
    """Writes archives, packages and the image of one architecture."""
    installed = out / f"tree-{arch}"
    tree.lay_out(built, built / "faultline", installed, documented_by)
    base = f"faultline-{of['version']}-{arch}-linux"
    (out / f"{base}.tar.gz").write_bytes(archive.compressed(archive.tar(installed, base, of["time"])))
    common = of["version"], arch, of["time"], of["repository"]
    deb.build(installed, *common, of["address"], out)
    if shutil.which("rpmbuild"):
        rpm.build(installed, *common, out)
    else:
        print("left out: the RPM package; hint: Debian's package rpm has rpmbuild", file=sys.stderr)
    image.build(installed, *common, out)
    shutil.rmtree(installed)


def make_draft(target, out):
    """Writes an archive of programs that were built for tests below `target`, and its checksum.
    Their command is linked dynamically, and large even without its debugging information."""
    base = f"faultline-{declared_version(ROOT)}-draft-{os.uname().machine}-linux"
    with tempfile.TemporaryDirectory(dir=out) as place:
        command = Path(place, "faultline")
        subprocess.run(["strip", "-o", command, target / "debug/faultline"], check=True)
        installed = Path(place, base)
        tree.lay_out(target, command, installed, [command])
        packed = gzip.compress(archive.tar(installed, base, 0), compresslevel=1)
    (out / f"{base}.tar.gz").write_bytes(packed)
    (out / "SHA256SUMS").write_text(f"{archive.digest(packed)}  {base}.tar.gz\n")


def write_statements(out, of, debian):
    """Writes SBOM, formula, the flake's digests, provenance, and the checksums of all files."""
    sums = {file.name: archive.digest(file.read_bytes()) for file in out.iterdir() if file.is_file()}
    texts = {
        f"faultline-{of['version']}.spdx.json": json_text(sbom.document(of["version"], of["time"], of["commit"], sbom.licences(), debian)),
        "faultline.rb": formula.formula(of["version"], of["repository"], sums),
        "released.json": json_text(formula.released(of["version"], of["repository"], sums)),
    }
    sums |= {name: archive.digest(text.encode()) for name, text in texts.items()}
    tools = {"rustc": output("rustc", "--version"), "gcc": output("gcc", "--version").splitlines()[0]}
    stated = provenance.statement(sums, of["version"], of["commit"], of["repository"], of["tagged"], tools)
    texts[f"faultline-{of['version']}.intoto.json"] = json_text(stated)
    for name, text in texts.items():
        (out / name).write_text(text)
        sums[name] = archive.digest(text.encode())
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))


def json_text(value):
    """JSON for readers, the same for the same value."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def arguments():
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="", help="try a release of the checkout as it is, without a tag")
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES, help="only these [default: both]")
    parser.add_argument("--built", type=Path, help="pack what an earlier run built in this directory")
    parser.add_argument("--draft", action="store_true", help="only the archive, of the programs that `make guest lens` built")
    parser.add_argument("--out", type=Path, default=ROOT / "target/dist", help="the directory to write, which is emptied")
    return parser.parse_args()


def main():
    given = arguments()
    try:
        if given.draft:
            given.out.mkdir(parents=True, exist_ok=True)
            make_draft(ROOT / "target", given.out)
            return 0
        version, tagged = version_of(ROOT, given.version)
        time = int(output("git", "log", "-1", "--format=%ct"))
        os.environ["SOURCE_DATE_EPOCH"] = str(time)
        os.umask(0o022)
        built = (given.built or ROOT / "target/dist-build").resolve()
        wanted = given.arch or ARCHITECTURES
        for arch in wanted if not given.built else []:
            subprocess.run([ROOT / "packages/release/build.sh", arch, built / arch], check=True)
        for arch in wanted:
            check_command(built / arch / "faultline")
        shutil.rmtree(given.out, ignore_errors=True)
        given.out.mkdir(parents=True)
        of = {"version": version, "time": time, "repository": repository_of(ROOT), "tagged": tagged,
              "commit": output("git", "rev-parse", "HEAD"), "address": os.environ.get("ADDRESS", "maintainers@faultline.invalid")}
        # Man pages are the same for every architecture. One that does not run here is emulated.
        own = os.uname().machine
        documented_by = [built / own / "faultline"] if own in wanted else [f"qemu-{wanted[0]}-static", built / wanted[0] / "faultline"]
        if not shutil.which(documented_by[0]):
            raise Refused(f"there is no {documented_by[0]}, which prints man pages here", "apt-get install qemu-user-static")
        for arch in wanted:
            make_of(arch, built / arch, documented_by, of, given.out)
        debian = sorted({package for arch in wanted for package in tree.packages(built / arch)})
        write_statements(given.out, of, debian)
    except Refused as refused:
        problem, hint = refused.args
        print(f"no release: {problem}\nhint: {hint}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"no release: {' '.join(map(str, failed.cmd))} ended with {failed.returncode}", file=sys.stderr)
        return 1
    for file in sorted(given.out.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
