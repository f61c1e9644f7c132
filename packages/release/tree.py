"""Lays out an installation below a prefix, from the programs that build.sh made.

    PREFIX/bin/faultline
    PREFIX/libexec/faultline/…      workloads, guests' parts, emulator, kernel, plugin
    PREFIX/share/…                  man pages, completions, README, licences, sources
"""

import shutil
import subprocess
from pathlib import Path

import archive
import notices

ROOT = Path(__file__).resolve().parent.parent.parent

# The shells' directories of completions, below share, with the name of the command's script.
COMPLETIONS = {
    "bash": "bash-completion/completions/faultline",
    "zsh": "zsh/site-functions/_faultline",
    "fish": "fish/vendor_completions.d/faultline.fish",
}

LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"]


def lay_out(built, command, prefix, documented_by):
    """Fills an empty prefix with the command and the parts that were built beside it.
    `documented_by`: words of a command that runs here and prints the man pages."""
    binary = prefix / "bin/faultline"
    binary.parent.mkdir(parents=True)
    shutil.copyfile(command, binary)
    binary.chmod(0o755)
    subprocess.run([ROOT / "packages/install-parts.sh", built, prefix / "libexec/faultline"], check=True)

    share = prefix / "share"
    generate = [*documented_by, "generate"]
    subprocess.run([*generate, "man", share / "man/man1"], check=True)
    for shell, name in COMPLETIONS.items():
        file = share / name
        file.parent.mkdir(parents=True)
        file.write_bytes(subprocess.run([*generate, shell], check=True, stdout=subprocess.PIPE).stdout)

    document(built, share / "doc/faultline")
    archive.settle(prefix)


def document(built, place):
    """README, changes, and the licences of everything in the installation."""
    place.mkdir(parents=True)
    for name in ["README.md", "CHANGELOG.md", *LICENCES]:
        shutil.copyfile(ROOT / name, place / name)
    shutil.copyfile(ROOT / "lens/plugin/LICENSE-GPL-2.0", place / "LICENSE-GPL-2.0")
    modules = next(built.glob("cargo/*/release/build/faultline-report-*/out/page-build/node_modules"), None)
    (place / "copyright").write_text(notices.copyright_of(packages(built)))
    (place / "THIRD-PARTY").write_text(notices.third_party(modules))


def packages(built):
    """Name and version of the Debian packages in the installation, sorted."""
    lists = [built / "qemu/packages", built / "kernels/bookworm/packages", built / "linked-packages"]
    lines = [line.split() for file in lists if file.is_file() for line in file.read_text().splitlines()]
    return sorted({(name, version) for name, version in lines})
