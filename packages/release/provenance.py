"""States what was built from which commit: an in-toto statement with SLSA's provenance (v1).

The local statement is not signed; the workflow signs one of its own for each file.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKS = ["Cargo.lock", "lens/plugin/Cargo.lock", "lab/report/page/package-lock.json"]


def statement(files, version, commit, repository, is_tagged, tools):
    """The statement. `files`: digests by name. `tools`: versions of compilers by name."""
    source = {"uri": f"git+{repository}", "digest": {"gitCommit": commit}}
    locks = [{"uri": f"git+{repository}#{lock}", "digest": {"sha256": hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()}}
             for lock in LOCKS]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(files.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{repository}/blob/main/docs/RELEASE.md",
                "externalParameters": {"version": version, "ref": f"refs/tags/v{version}" if is_tagged else commit},
                "internalParameters": {"tools": tools},
                "resolvedDependencies": [source, *locks],
            },
            "runDetails": {"builder": {"id": f"{repository}/blob/main/packages/release/release.py"}},
        },
    }
