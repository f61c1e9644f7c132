"""Texts about licences: an overview, the place of sources, and notices of linked packages."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MANIFESTS = ["Cargo.toml", "lens/plugin/Cargo.toml"]
NOTICE = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)
PAGE = "lab/report/page/package-lock.json"

COPYRIGHT = """Faultline

The command, the workloads and the guest agent: MIT (LICENSE-MIT) or Apache-2.0 (LICENSE-APACHE), at
your choice. THIRD-PARTY has the notices of the packages linked into the command and the plugin.
The command and the static programs contain musl (MIT) or the GNU C library (LGPL-2.1-or-later).

libexec/faultline/lens/libfaultline_lens.so: GPL-2.0-or-later (LICENSE-GPL-2.0), because QEMU loads
it. Its source is `lens/plugin` of the repository, at the tag of this version.

libexec/faultline/qemu, libexec/faultline/kernels: unchanged programs, libraries and a Linux kernel
of Debian, under their own licences, mostly GPL-2.0 and LGPL-2.1; libexec/faultline/qemu/licences
has them, and Linux is GPL-2.0-only. They are separate programs, which Faultline starts.

Sources of these packages. Each release offers them beside its binaries, at the same place and
without charge: faultline-VERSION-sources.tar, in Debian's format. Debian's archive and its
snapshots have them too, by source name and version. The packages of this release:

"""


def copyright_of(packages):
    """The installation's file `copyright`, as packages of Debian have one."""
    return COPYRIGHT + "".join(f"    {name} {version}\n" for name, version in packages)


def crates():
    """Packages of others that cargo links into the command or the plugin, in order."""
    found = {}
    for manifest in MANIFESTS:
        metadata = json.loads(run("cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", ROOT / manifest))
        by_id = {package["id"]: package for package in metadata["packages"]}
        tree = run("cargo", "tree", "--locked", "--manifest-path", ROOT / manifest, "--edges", "normal", "--prefix", "none",
                   "--target", "x86_64-unknown-linux-musl", "--format", "{p}")
        linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
        for package in by_id.values():
            key = (package["name"], "v" + package["version"])
            if package["source"] and key in linked:
                found[key] = package
    return [found[key] for key in sorted(found)]


def texts(directory):
    """Licences and notices in a package's directory."""
    files = sorted(directory.iterdir()) if directory and directory.is_dir() else []
    found = [file.read_text(errors="replace").strip() for file in files if file.is_file() and NOTICE.search(file.name)]
    return found or ["The package has no text of its licence."]


def third_party(modules):
    """Licences and notices of all linked packages; each text once, with the packages that have it.

    `modules`: the directory of the page's npm packages, or none.
    """
    owners = {}
    for package in crates():
        for text in texts(Path(package["manifest_path"]).parent):
            owners.setdefault(text, []).append(f"{package['name']} {package['version']} ({package['license']})")
    for path, entry in json.loads((ROOT / PAGE).read_text())["packages"].items():
        name = path.split("node_modules/")[-1]
        if path and not entry.get("dev") and "esbuild" not in name:
            for text in texts(modules and modules / name):
                owners.setdefault(text, []).append(f"{name} {entry['version']} ({entry.get('license')}), of npm")
    parts = sorted(("\n".join(sorted(set(names))), text) for text, names in owners.items())
    return "\n\n".join(f"{names}\n{'-' * 72}\n{text}" for names, text in parts) + "\n"


def run(*words):
    """Output of a command that must succeed."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
