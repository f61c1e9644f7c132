"""Writes an OCI image as a tar file in the OCI layout, with nothing but Python.

The image has one layer per part and no base: the command and the programs that it starts are static
or bring their libraries. It has no shell; to measure programs that need one, copy `/usr` into an
image that has them.
"""

import io
import json
import tarfile
from datetime import datetime, timezone

import archive

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def encoded(value):
    """JSON as bytes, the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layout:
    """An image layout that is being filled: blobs by their digests."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media_type, **more):
        """Adds a blob. Returns its descriptor."""
        digest = archive.digest(data)
        self.blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def add_image(self, layers, arch, version, time, repository):
        """Adds an image of uncompressed layers. Returns its descriptor."""
        created = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        labels = {
            "org.opencontainers.image.title": "faultline", "org.opencontainers.image.version": version,
            "org.opencontainers.image.source": repository, "org.opencontainers.image.created": created,
            "org.opencontainers.image.licenses": "(MIT OR Apache-2.0) AND GPL-2.0-or-later AND GPL-2.0-only AND LGPL-2.1-or-later",
        }
        platform = {"os": "linux", "architecture": ARCHITECTURES[arch]}
        config = {
            **platform, "created": created,
            "config": {"Entrypoint": ["/usr/bin/faultline"], "Cmd": ["--help"], "Labels": labels, "WorkingDir": "/data",
                       "Env": ["PATH=/usr/bin:/bin", "HOME=/data"], "Volumes": {"/data": {}}},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{archive.digest(layer)}" for layer in layers]},
            "history": [{"created": created, "created_by": "make release"} for _ in layers],
        }
        manifest = {
            "schemaVersion": 2, "mediaType": MANIFEST, "config": self.add(encoded(config), CONFIG),
            "layers": [self.add(archive.compressed(layer), LAYER) for layer in layers], "annotations": labels,
        }
        return self.add(encoded(manifest), MANIFEST, platform=platform)

    def tar(self, images, version, time):
        """The layout's tar file, with an index of the images."""
        for image in images:
            image["annotations"] = {"org.opencontainers.image.ref.name": version}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": images}
        files = {"oci-layout": encoded({"imageLayoutVersion": "1.0.0"}), "index.json": encoded(index)}
        files |= {f"blobs/sha256/{digest}": data for digest, data in self.blobs.items()}
        return tar_of(files, {"blobs": 0o755, "blobs/sha256": 0o755}, time)


def base(time):
    """The layer below the installation: directories and files that programs expect."""
    directories = {"data": 0o755, "dev": 0o755, "etc": 0o755, "proc": 0o755, "sys": 0o755, "tmp": 0o1777}
    files = {"etc/group": b"root:x:0:\n", "etc/passwd": b"root:x:0:0:root:/data:/usr/bin/faultline\n"}
    return tar_of(files, directories, time)


def tar_of(files, directories, time):
    """A tar file of contents by name, below directories with their modes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as archived:
        for name, mode in directories.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, time
            archived.addfile(entry)
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), time
            archived.addfile(entry, io.BytesIO(data))
    return output.getvalue()


def build(installed, version, arch, time, repository, out):
    """Writes the image of a tree that is its /usr. Returns its file."""
    layout = Layout()
    layers = [base(time), archive.tar(installed, "usr", time)]
    described = layout.add_image(layers, arch, version, time, repository)
    file = out / f"faultline-{version}-{arch}-oci.tar"
    file.write_bytes(layout.tar([described], version, time))
    return file
