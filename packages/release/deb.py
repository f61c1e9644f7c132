"""Builds the Debian package from an installation's tree."""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import archive

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# All programs are static or bring their libraries, so nothing is needed to install or to start.
CONTROL = """Package: faultline
Version: {version}
Architecture: {architecture}
Maintainer: The Faultline maintainers <{address}>
Installed-Size: {size}
Recommends: git, gcc | c-compiler, make
Suggests: openssh-client
Section: devel
Priority: optional
Homepage: {repository}
Description: does this system scale, why not, and since which commit?
 Faultline measures how operating systems and other concurrent programs scale
 over CPUs, counts the cache lines that move between CPUs of an emulated
 machine, and searches the commits that changed either.
 .
 git is needed for commits, a compiler and make for two of the workloads.
"""


def control(version, arch, size, repository, address):
    """The file `control`. `size`: of the installed files, in KiB."""
    return CONTROL.format(version=version.replace("-", "~"), architecture=ARCHITECTURES[arch], size=size, repository=repository, address=address)


def name(version, arch):
    """The package's file name, as Debian's tools expect it."""
    return f"faultline_{version.replace('-', '~')}_{ARCHITECTURES[arch]}.deb"


def build(installed, version, arch, time, repository, address, out):
    """Writes the package of a tree whose bin and libexec go below /usr. Returns its file."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        root.chmod(0o755)
        usr = root / "usr"
        # Keeps hard links.
        subprocess.run(["cp", "-a", installed, usr], check=True)
        for page in (usr / "share/man").rglob("*.1"):
            page.with_name(page.name + ".gz").write_bytes(archive.compressed(page.read_bytes()))
            page.unlink()
        paths = archive.entries(root)
        files = [path for path in paths if (root / path).is_file() and not (root / path).is_symlink()]
        size = sum({(root / path).stat().st_ino: (root / path).stat().st_size for path in files}.values()) // 1024 + 1
        sums = "".join(f"{hashlib.md5((root / path).read_bytes()).hexdigest()}  {path.as_posix()}\n" for path in files)
        debian = root / "DEBIAN"
        debian.mkdir()
        (debian / "control").write_text(control(version, arch, size, repository, address))
        (debian / "md5sums").write_text(sums)
        for path in archive.entries(root):
            if not (root / path).is_symlink():
                (root / path).chmod(archive.mode(root / path))
                os.utime(root / path, (time, time))
        os.utime(root, (time, time))
        file = out / name(version, arch)
        # dpkg-deb sorts the files. One thread: others would cut xz's output into other blocks.
        subprocess.run(["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", root, file], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})
    return file
