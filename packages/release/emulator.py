"""Bundles QEMU of Debian with its loader, libraries and firmware, for one architecture of hosts.

    emulator.py ARCH DIRECTORY    writes DIRECTORY/qemu; ARCH: x86_64 or aarch64

The bundle runs on any Linux. Only libraries that the emulator or the lens's plugin load are in it.
`qemu/packages` lists the Debian packages of all files, and `qemu/licences` has their licences.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = "trixie"
# The packages of all libraries that it loads at its start, and of its files.
PATTERN = "|".join("""qemu-system-(common|data) seabios zlib1g gcc-[0-9]+-base libaio1t64 libatomic1 libblkid1 libbpf1 libc6 libcap2 libcapstone5
    libdaxctl1 libelf1t64 libfdt1 libffi8 libfuse3-4 libgcc-s1 libglib2.0-0t64 libgmp10 libgnutls30t64 libhogweed6t64 libibverbs1
    libidn2-0 libjpeg62-turbo libkmod2 libmount1 libndctl6 libnettle8t64 libnl-3-200 libnl-route-3-200 libnuma1 libp11-kit0
    libpcre2-8-0 libpixman-1-0 libpmem1 libpng16-16t64 librdmacm1t64 libsasl2-2 libseccomp2 libselinux1 libslirp0 libssl3t64
    libtasn1-6 libudev1 libunistring5 liburing2 libuuid1 libvdeplug2t64 libzstd1""".split())
LEFT_OUT = ["./usr/bin/qemu-system-i386", "*-microvm", "./usr/share/man", "./usr/share/icons", "./usr/share/locale"]

# Debian's name of the architecture, the directory of its libraries, and its loader.
ARCHITECTURES = {
    "x86_64": ("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
    "aarch64": ("arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
}

# Firmware that x86-64 machines load. Others of the packages are of other machines.
FIRMWARE = re.compile(r"(bios(-256k)?|kvmvapic|linuxboot(_dma)?|multiboot(_dma)?|pvh|vgabios.*)\.bin|efi-.*\.rom|keymaps")

# The plugin is a Rust library.
OF_PLUGIN = ["libgcc_s.so.1", "libc.so.6"]


def needed(file):
    """Names of the libraries that a program or a library loads at its start."""
    listed = subprocess.run(["readelf", "-d", file], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", listed)


def closure(program, libraries, names=(), ask=needed):
    """Files by library name, for a program, further names and all that these load in turn."""
    found, open_names = {}, list(names) + ask(program)
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        file = libraries / name
        if not file.exists():
            raise SystemExit(f"no package has {name}, which {program.name} loads; hint: add it to PATTERN in {__file__}")
        found[name] = file.resolve()
        open_names += ask(found[name])
    return found


def unpack(arch, place):
    """Unpacks the packages of the architecture with this machine's mirror."""
    debian, _, _ = ARCHITECTURES[arch]
    scripts = Path(__file__).resolve().parent.parent
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as settings:
        settings.write(f'APT::Architecture "{debian}";\nAPT::Architectures {{ "{debian}"; }};\n')
        settings.flush()
        subprocess.run([scripts / "unpack.sh", place, SUITE, "qemu-system-x86", PATTERN, *LEFT_OUT], check=True,
                       env={**os.environ, "APT_CONFIG": settings.name})


def bundle(arch, unpacked, place):
    """Copies the emulator's files into `place`, without its launcher."""
    _, triple, loader = ARCHITECTURES[arch]
    libraries = unpacked / "usr/lib" / triple
    program = unpacked / "usr/bin/qemu-system-x86_64"
    lib, share = place / "usr/lib", place / "usr/share/qemu"
    for directory in (lib, share, place / "usr/bin", place / "licences"):
        directory.mkdir(parents=True)
    for name, file in closure(program, libraries, [*OF_PLUGIN, loader]).items():
        shutil.copyfile(file, lib / ("loader" if name == loader else name))
    # Libraries name their loader as one that they need.
    (lib / loader).symlink_to("loader")
    shutil.copyfile(program, lib / "qemu-system-x86_64")
    for directory in ("usr/share/qemu", "usr/share/seabios"):
        for file in sorted((unpacked / directory).iterdir()):
            if FIRMWARE.fullmatch(file.name):
                (shutil.copytree if file.is_dir() else shutil.copyfile)(file, share / file.name)
    for file in ("loader", "qemu-system-x86_64"):
        (lib / file).chmod(0o755)
    (lib / "qemu-bundle").symlink_to("../..")

    # Packages of a source share its licence; those without a copied file are harmless.
    listed = (unpacked / "packages").read_text()
    for line in listed.splitlines():
        name = line.split()[0]
        copyright_file = unpacked / "usr/share/doc" / name / "copyright"
        if copyright_file.is_file():
            shutil.copyfile(copyright_file, place / "licences" / name)
    (place / "packages").write_text(listed)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ARCHITECTURES:
        print(f"usage: {sys.argv[0]} {'|'.join(ARCHITECTURES)} DIRECTORY", file=sys.stderr)
        return 2
    arch, out = sys.argv[1], Path(sys.argv[2])
    unpacked, place = out / "qemu-unpacked", out / "qemu"
    unpack(arch, unpacked)
    shutil.rmtree(place, ignore_errors=True)
    bundle(arch, unpacked, place)
    compiler = Path(__file__).resolve().parent.parent.parent / "target/cross-compiler/bin/python"
    subprocess.run([compiler, "-m", "ziglang", "cc", "-target", f"{arch}-linux-musl", "-static", "-Os", "-s", "-Wall", "-Werror",
                    "-o", place / "usr/bin/qemu-system-x86_64", Path(__file__).with_name("launcher.c")], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
