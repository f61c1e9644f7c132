"""Describes a release to package managers: Homebrew's formula and the flake's digests."""

import base64

# Homebrew's and Nix's names of the architectures.
BLOCKS = {"x86_64": "on_intel", "aarch64": "on_arm"}
SYSTEMS = {"x86_64": "x86_64-linux", "aarch64": "aarch64-linux"}

FORMULA = """class Faultline < Formula
  desc "Does this system scale, why not, and since which commit?"
  homepage "{repository}"
  version "{version}"
  license all_of: [{{ any_of: ["MIT", "Apache-2.0"] }}, "GPL-2.0-or-later", "LGPL-2.1-or-later"]

  depends_on :linux

{blocks}
  def install
    prefix.install "bin", "libexec"
    share.install Dir["share/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/faultline --version")
    system bin/"faultline", "run", "--db", testpath/"test.sqlite", "--tasks", "1", "--repeats", "6", "fork_exit:small"
  end
end
"""

BLOCK = """  {block} do
    url "{url}"
    sha256 "{digest}"
  end
"""


def tarballs(version, repository, sums):
    """Address and digest of each architecture's tarball in this release."""
    named = {arch: f"faultline-{version}-{arch}-linux.tar.gz" for arch in BLOCKS}
    return {arch: (f"{repository}/releases/download/v{version}/{name}", sums[name]) for arch, name in named.items() if name in sums}


def formula(version, repository, sums):
    """Homebrew's formula, for the architectures of this release."""
    found = tarballs(version, repository, sums)
    blocks = "\n".join(BLOCK.format(block=BLOCKS[arch], url=url, digest=digest) for arch, (url, digest) in found.items())
    return FORMULA.format(version=version, repository=repository, blocks=blocks)


def released(version, repository, sums):
    """The data of flake.nix, to be committed as packages/release/released.json."""
    found = tarballs(version, repository, sums)
    hashes = {SYSTEMS[arch]: {"url": url, "hash": "sha256-" + base64.b64encode(bytes.fromhex(digest)).decode()}
              for arch, (url, digest) in found.items()}
    return {"version": version, "systems": hashes}
