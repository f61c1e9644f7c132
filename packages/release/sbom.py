"""Writes the list of a release's parts (SBOM) in the SPDX 2.3 format, from the lock files."""

import json
import re
import subprocess
import tomllib
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CARGO = ["", "lens/plugin/"]
NPM = "lab/report/page/package-lock.json"
NAMESPACE = "https://spdx.org/spdxdocs/faultline"


def licences():
    """Licence of each Rust package, by name and version, as `cargo metadata` knows them."""
    found = {}
    for directory in CARGO:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", ROOT / directory / "Cargo.toml"]
        for package in json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]:
            found[package["name"], package["version"]] = (package["license"] or "NOASSERTION").replace("/", " OR ")
    return found


def package(kind, name, version, licence=None, checksum=None):
    """A package's entry. `kind`: as in package URLs."""
    entry = {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}-{version}"),
        "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION", "licenseDeclared": licence or "NOASSERTION", "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:{kind}/{name.replace('@', '%40')}@{version}"}],
    }
    if checksum:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    return entry


def locked(known):
    """Entries of all packages in the lock files. `known`: licences of Rust packages."""
    entries = []
    for directory in CARGO:
        for item in tomllib.loads((ROOT / directory / "Cargo.lock").read_text())["package"]:
            key = item["name"], item["version"]
            entries.append(package("cargo", *key, known.get(key), item.get("checksum")))
    for path, item in json.loads((ROOT / NPM).read_text())["packages"].items():
        if path:
            entries.append(package("npm", path.split("node_modules/")[-1], item["version"], item.get("license")))
    return entries


def document(version, time, commit, known, debian):
    """The whole document. `debian`: names and versions of bundled Debian packages."""
    own = package("generic", "faultline", version, "(MIT OR Apache-2.0) AND GPL-2.0-or-later")
    parts = locked(known) + [package("deb", f"debian/{name}", number) for name, number in debian]
    # Both workspaces and parts of npm may have a package in common.
    unique = {entry["SPDXID"]: entry for entry in parts}
    unique.pop(own["SPDXID"], None)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])] + [(own["SPDXID"], "DEPENDS_ON", name) for name in sorted(unique)]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"faultline-{version}",
        "documentNamespace": f"{NAMESPACE}-{version}-{commit}",
        "creationInfo": {"created": datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: faultline-make-release"]},
        "packages": [own] + [unique[name] for name in sorted(unique)],
        "relationships": [{"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": to} for subject, kind, to in relations],
    }
