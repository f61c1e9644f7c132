"""Builds the RPM package from an installation's tree, by the spec file beside this file."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SPEC = Path(__file__).with_name("faultline.spec")

# The build host and the time would otherwise be in the package.
FIXED = {
    "_buildhost": "localhost", "use_source_date_epoch_as_buildtime": "1", "clamp_mtime_to_source_date_epoch": "1",
    "_build_id_links": "none", "__os_install_post": "%{nil}", "debug_package": "%{nil}", "_binary_payload": "w9.xzdio",
    "_dbpath": "%{_topdir}/database",
}


def split_version(version):
    """RPM's version and release: `0.2.0-rc1` sorts before `0.2.0` as 0.2.0~rc1."""
    return version.replace("-", "~"), "1"


def name(version, arch):
    """The package's file name."""
    return f"faultline-{'-'.join(split_version(version))}.{arch}.rpm"


def build(installed, version, arch, time, repository, out):
    """Writes the package of a tree whose bin and libexec go below /usr. Returns its file."""
    with tempfile.TemporaryDirectory() as directory:
        number, release = split_version(version)
        defined = {**FIXED, "_topdir": directory, "version_": number, "release_": release, "repository_": repository,
                   "installed_": str(installed.resolve())}
        words = [word for key, value in defined.items() for word in ("--define", f"{key} {value}")]
        subprocess.run(["rpmbuild", "-bb", "--quiet", "--target", f"{arch}-linux", *words, SPEC], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(time), "LC_ALL": "C"}, stdout=subprocess.DEVNULL)
        made = Path(directory) / "RPMS" / arch / name(version, arch)
        return Path(shutil.copyfile(made, out / made.name))
