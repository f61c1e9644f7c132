"""Reproducible archives: the bytes depend only on names, contents, links and execute permissions.

Entries are sorted. They belong to root, have the commit's time, and modes 755 or 644. A further
name of the same content becomes a hard link, since a release contains many programs twice.
"""

import gzip
import hashlib
import io
import os
import tarfile
from pathlib import Path


def entries(tree):
    """Relative paths of everything below a directory, parents first, in an order of bytes."""
    found = []
    for directory, names, files in os.walk(tree):
        base = Path(directory)
        found += [(base / name).relative_to(tree) for name in names + files]
    return sorted(found, key=lambda path: [part.encode() for part in path.parts])


def mode(path):
    """755 for directories and programs, otherwise 644."""
    return 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644


def settle(tree):
    """Gives the files of a directory their modes, and equal files one content on the disk."""
    contents = {}
    for path in entries(tree):
        file = tree / path
        if file.is_symlink():
            continue
        file.chmod(mode(file))
        if file.is_file() and file.stat().st_size:
            first = contents.setdefault((hashlib.sha256(file.read_bytes()).digest(), mode(file)), file)
            if first != file:
                file.unlink()
                file.hardlink_to(first)


def tar(tree, prefix, time):
    """A tar file of a directory, in memory. `prefix` begins each name, without a final slash."""
    output, contents = io.BytesIO(), {}
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in [None, *entries(tree)] if prefix else entries(tree):
            file = tree / path if path else tree
            entry = tarfile.TarInfo("/".join(filter(None, [prefix, path and path.as_posix()])))
            entry.mtime, entry.uname, entry.gname = time, "root", "root"
            if file.is_symlink():
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(file), 0o777
                archive.addfile(entry)
            elif file.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, mode(file)
                archive.addfile(entry)
            else:
                content, entry.mode = file.read_bytes(), mode(file)
                key = (hashlib.sha256(content).digest(), entry.mode)
                if content and key in contents:
                    entry.type, entry.linkname = tarfile.LNKTYPE, contents[key]
                    archive.addfile(entry)
                else:
                    contents[key], entry.size = entry.name, len(content)
                    archive.addfile(entry, io.BytesIO(content))
    return output.getvalue()


def compressed(data):
    """Bytes in the gzip format, without a name or a time. Every system can unpack it."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def digest(data):
    """SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
