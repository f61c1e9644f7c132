"""Tests of the release's parts, over small trees instead of built programs."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packages/release"))

import archive  # noqa: E402
import deb  # noqa: E402
import emulator  # noqa: E402
import formula  # noqa: E402
import image  # noqa: E402
import notices  # noqa: E402
import provenance  # noqa: E402
import release  # noqa: E402
import rpm  # noqa: E402
import sbom  # noqa: E402

TIME = 1_700_000_000
REPOSITORY = "https://forge.example/faultline"
LABELS = "0.1.0", "x86_64", TIME, REPOSITORY


class Place(unittest.TestCase):
    """A directory of its own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def installed(self, name):
        """An installation's tree with other times and modes each time."""
        tree = self.root / name
        for file, mode, text in [("bin/faultline", 0o700, "command"), ("libexec/faultline/workloads/a", 0o755, "same"),
                                 ("libexec/faultline/guest/workloads/a", 0o755, "same"), ("share/man/man1/faultline.1", 0o600, "page"),
                                 ("share/bash-completion/completions/faultline", 0o644, "bash"), ("share/zsh/site-functions/_faultline", 0o644, "zsh"),
                                 ("share/fish/vendor_completions.d/faultline.fish", 0o644, "fish"), ("share/doc/faultline/copyright", 0o644, "")]:
            path = tree / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
            os.utime(path, (TIME + len(name), TIME + len(name)))
        (tree / "libexec/faultline/link").symlink_to("guest")
        return tree


class Archives(Place):
    def test_bytes_depend_only_on_names_contents_and_execute_permissions(self):
        first, second = self.installed("a"), self.installed("another")
        shutil.copytree(second / "share", second / "again")
        shutil.rmtree(second / "share")
        (second / "again").rename(second / "share")
        packed = archive.tar(first, "faultline-1", TIME)
        self.assertEqual(packed, archive.tar(second, "faultline-1", TIME))
        self.assertEqual(archive.compressed(packed), archive.compressed(packed))
        (second / "bin/faultline").chmod(0o644)
        self.assertNotEqual(packed, archive.tar(second, "faultline-1", TIME))

    def test_entries_are_sorted_owned_by_root_and_of_one_time(self):
        with tarfile.open(fileobj=io.BytesIO(archive.tar(self.installed("a"), "f", TIME))) as packed:
            members = packed.getmembers()
        self.assertEqual([member.name.split("/") for member in members], sorted(member.name.split("/") for member in members))
        self.assertEqual({(member.uid, member.gid, member.uname, member.mtime) for member in members}, {(0, 0, "root", TIME)})
        self.assertLessEqual({member.mode for member in members}, {0o755, 0o644, 0o777})

    def test_a_settled_tree_has_equal_files_once_and_plain_modes(self):
        tree = self.installed("a")
        archive.settle(tree)
        same = [tree / "libexec/faultline" / name for name in ("workloads/a", "guest/workloads/a")]
        self.assertTrue(same[0].samefile(same[1]))
        self.assertEqual((tree / "bin/faultline").stat().st_mode & 0o777, 0o755)
        self.assertEqual((tree / "share/man/man1/faultline.1").stat().st_mode & 0o777, 0o644)

    def test_equal_programs_are_packed_once_and_unpack_as_files(self):
        with tarfile.open(fileobj=io.BytesIO(archive.tar(self.installed("a"), "f", TIME))) as packed:
            self.assertTrue(packed.getmember("f/libexec/faultline/workloads/a").islnk())
            packed.extractall(self.root / "unpacked")
        unpacked = self.root / "unpacked/f/libexec/faultline"
        self.assertEqual((unpacked / "workloads/a").read_text(), "same")
        self.assertEqual(os.readlink(unpacked / "link"), "guest")


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
class DebianPackage(Place):
    def build(self, name):
        out = self.root / f"out-{name}"
        out.mkdir()
        return deb.build(self.installed(name), *LABELS, "a@example.org", out)

    def field(self, file, field):
        return subprocess.run(["dpkg-deb", "--field", file, field], check=True, capture_output=True, text=True).stdout.strip()

    def test_it_is_reproducible_and_needs_no_package(self):
        first, second = self.build("a"), self.build("another")
        self.assertEqual(first.name, "faultline_0.1.0_amd64.deb")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertEqual((self.field(first, "Architecture"), self.field(first, "Depends")), ("amd64", ""))
        self.assertIn("git", self.field(first, "Recommends"))
        listed = subprocess.run(["dpkg-deb", "--contents", first], check=True, capture_output=True, text=True).stdout
        self.assertIn("./usr/bin/faultline", listed)
        self.assertIn("./usr/share/man/man1/faultline.1.gz", listed)
        self.assertEqual({line.split()[1] for line in listed.splitlines()}, {"root/root"})

    def test_a_version_for_trying_sorts_before_the_release(self):
        self.assertIn("Version: 0.2.0~rc1\n", deb.control("0.2.0-rc1", "aarch64", 1, REPOSITORY, "a@example.org"))
        self.assertEqual(rpm.split_version("0.2.0-rc1"), ("0.2.0~rc1", "1"))


@unittest.skipUnless(shutil.which("rpmbuild"), "no rpmbuild here")
class RpmPackage(Place):
    def test_it_is_reproducible_and_needs_no_package(self):
        files = []
        for name in ("a", "another"):
            (self.root / f"out-{name}").mkdir()
            files.append(rpm.build(self.installed(name), *LABELS, self.root / f"out-{name}"))
        self.assertEqual(files[0].name, "faultline-0.1.0-1.x86_64.rpm")
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())
        asked = subprocess.run(["rpm", "--query", "--requires", "--package", files[0]], check=True, capture_output=True, text=True)
        self.assertEqual([line for line in asked.stdout.splitlines() if not line.startswith("rpmlib(")], [])


class Image(Place):
    def test_every_digest_of_the_layout_is_right(self):
        file = image.build(self.installed("a"), *LABELS, self.root)
        with tarfile.open(file) as packed:
            content = {member.name: packed.extractfile(member).read() for member in packed if member.isfile()}
        self.assertEqual(json.loads(content["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        blobs = {name: data for name, data in content.items() if name.startswith("blobs/")}
        for name, data in blobs.items():
            self.assertEqual(name, f"blobs/sha256/{hashlib.sha256(data).hexdigest()}")

        def blob(descriptor):
            data = content["blobs/" + descriptor["digest"].replace(":", "/")]
            self.assertEqual(len(data), descriptor["size"])
            return data

        described, = json.loads(content["index.json"])["manifests"]
        self.assertEqual(described["platform"], {"os": "linux", "architecture": "amd64"})
        manifest = json.loads(blob(described))
        config = json.loads(blob(manifest["config"]))
        layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers])
        self.assertEqual(len(blobs), 2 + len(layers))
        names = [member.name for layer in layers for member in tarfile.open(fileobj=io.BytesIO(layer))]
        self.assertIn(config["config"]["Entrypoint"][0].removeprefix("/"), names)

    def test_it_is_reproducible(self):
        first = image.build(self.installed("a"), *LABELS, self.root).read_bytes()
        self.assertEqual(first, image.build(self.installed("another"), *LABELS, self.root).read_bytes())


class Versions(Place):
    """Of repositories that are a tag's commit, and of others."""

    def setUp(self):
        super().setUp()
        (self.root / "Cargo.toml").write_text('[workspace.package]\nversion = "0.1.0"\n')
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "first")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.root, check=True)

    def assert_refused(self, problem, hint, wanted=""):
        with self.assertRaises(release.Refused) as refused:
            release.version_of(self.root, wanted)
        self.assertIn(problem, refused.exception.args[0])
        self.assertIn(hint, refused.exception.args[1])

    def test_only_a_tag_of_a_clean_checkout_is_released(self):
        self.assert_refused("HEAD is not tagged", "VERSION=")
        self.git("tag", "v0.1.0")
        self.assertEqual(release.version_of(self.root, ""), ("0.1.0", True))
        (self.root / "new").write_text("")
        self.assert_refused("has changes", "VERSION=")
        self.assertEqual(release.version_of(self.root, "0.2.0-try1"), ("0.2.0-try1", False))

    def test_the_tag_is_the_version_of_cargo_toml(self):
        self.git("tag", "v0.2.0")
        self.assert_refused("Cargo.toml says 0.1.0", "Cargo.toml")
        self.assert_refused("is no version", "0.2.0-try1", wanted="new")


class Statements(unittest.TestCase):
    def test_the_sbom_lists_every_package_of_the_lock_files(self):
        document = sbom.document("0.1.0", TIME, "c" * 40, {}, [("qemu-system-x86", "1:10.0.13")])
        listed = {(package["name"], package["versionInfo"]) for package in document["packages"]}
        for lock in ("Cargo.lock", "lens/plugin/Cargo.lock"):
            for package in tomllib.loads((ROOT / lock).read_text())["package"]:
                self.assertIn((package["name"], package["version"]), listed)
        for path, package in json.loads((ROOT / sbom.NPM).read_text())["packages"].items():
            if path:
                self.assertIn((path.split("node_modules/")[-1], package["version"]), listed)
        self.assertIn(("debian/qemu-system-x86", "1:10.0.13"), listed)
        names = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in names))
        related = {relation["relatedSpdxElement"] for relation in document["relationships"]}
        self.assertEqual(related, set(names))

    def test_the_provenance_names_every_file_and_the_commit(self):
        stated = provenance.statement({"b": "2" * 64, "a": "1" * 64}, "0.1.0", "c" * 40, REPOSITORY, True, {"rustc": "1"})
        self.assertEqual([(subject["name"], subject["digest"]["sha256"][0]) for subject in stated["subject"]], [("a", "1"), ("b", "2")])
        definition = stated["predicate"]["buildDefinition"]
        self.assertEqual(definition["externalParameters"]["ref"], "refs/tags/v0.1.0")
        self.assertEqual(definition["resolvedDependencies"][0]["digest"], {"gitCommit": "c" * 40})

    def test_the_copyright_file_lists_bundled_packages(self):
        self.assertTrue(notices.copyright_of([("qemu-system-x86", "1:10")]).endswith("    qemu-system-x86 1:10\n"))


class PackageManagers(unittest.TestCase):
    SUMS = {"faultline-0.1.0-x86_64-linux.tar.gz": "0f" * 32, "SHA256SUMS": "00" * 32}

    def test_the_formula_has_the_version_and_a_digest_for_each_architecture(self):
        text = formula.formula("0.1.0", REPOSITORY, self.SUMS)
        self.assertIn('version "0.1.0"', text)
        self.assertIn(f'url "{REPOSITORY}/releases/download/v0.1.0/faultline-0.1.0-x86_64-linux.tar.gz"', text)
        self.assertIn(f'sha256 "{"0f" * 32}"', text)
        self.assertNotIn("on_arm", text)
        both = formula.formula("0.1.0", REPOSITORY, {**self.SUMS, "faultline-0.1.0-aarch64-linux.tar.gz": "1a" * 32})
        self.assertEqual((both.count("on_arm do"), both.count("on_intel do")), (1, 1))

    def test_the_flake_reads_what_a_release_writes(self):
        made = formula.released("0.1.0", REPOSITORY, self.SUMS)
        self.assertEqual(set(made["systems"]), {"x86_64-linux"})
        self.assertTrue(made["systems"]["x86_64-linux"]["hash"].startswith("sha256-Dw8P"))
        committed = json.loads((ROOT / "packages/release/released.json").read_text())
        self.assertEqual(set(committed), set(made))
        self.assertIn("./packages/release/released.json", (ROOT / "flake.nix").read_text())


class Crates(unittest.TestCase):
    """Of crates.io."""

    WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]

    def manifests(self):
        """Manifests of the crates that are published."""
        for member in ["lens/coherence", "lens/format", *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("lab/*"))]:
            manifest = tomllib.loads((ROOT / member / "Cargo.toml").read_text())
            if manifest["package"].get("publish", True):
                yield member, manifest

    def test_crates_need_each_other_in_the_same_version(self):
        exact = "=" + self.WORKSPACE["package"]["version"]
        own = {name: entry for name, entry in self.WORKSPACE["dependencies"].items() if name.startswith("faultline")}
        self.assertEqual({name for name, entry in own.items() if entry["version"] != exact}, set())
        published = {manifest["package"]["name"] for _, manifest in self.manifests()}
        self.assertLessEqual(set(own), published)

    def test_files_are_included_from_within_the_package_alone(self):
        """Other files are not in it; tests may include them."""
        for member, _ in self.manifests():
            for file in (ROOT / member / "src").rglob("*.rs"):
                code = file.read_text().split("#[cfg(test)]")[0]
                depth = len(file.relative_to(ROOT / member).parts) - 1
                if file.name not in ("tests.rs", "documented.rs"):
                    self.assertNotIn('include_str!("' + "../" * (depth + 1), code, file)

    def test_the_command_has_its_own_name_and_binstall_finds_the_tarball(self):
        _, manifest = next(found for found in self.manifests() if found[0] == "lab/faultline")
        self.assertEqual([program["name"] for program in manifest["bin"]], ["faultline"])
        binstall = manifest["package"]["metadata"]["binstall"]
        made = {"repo": REPOSITORY, "version": "0.1.0", "target-arch": "x86_64", "bin": "faultline"}
        for name, value in made.items():
            binstall = {key: text.replace(f"{{ {name} }}", value) for key, text in binstall.items()}
        url, _ = formula.tarballs("0.1.0", REPOSITORY, {"faultline-0.1.0-x86_64-linux.tar.gz": "0f" * 32})["x86_64"]
        self.assertEqual((binstall["pkg-url"], binstall["bin-dir"]), (url, "faultline-0.1.0-x86_64-linux/bin/faultline"))


class Emulator(Place):
    def test_libraries_are_followed_and_a_missing_one_is_an_error(self):
        for name in ("a.so", "b.so", "unused.so"):
            (self.root / name).write_text("")
        loads = {"program": ["a.so"], "a.so": ["b.so"], "b.so": ["a.so"]}
        found = emulator.closure(self.root / "program", self.root, ask=lambda file: loads[file.name])
        self.assertEqual(set(found), {"a.so", "b.so"})
        loads["b.so"] = ["c.so"]
        with self.assertRaisesRegex(SystemExit, "no package has c.so"):
            emulator.closure(self.root / "program", self.root, ask=lambda file: loads[file.name])


class Workflow(unittest.TestCase):
    def test_actions_are_pinned_by_commit_and_only_a_tag_publishes(self):
        text = (ROOT / ".github/workflows/release.yml").read_text()
        used = re.findall(r"uses: (\S+)(.*)", text)
        self.assertTrue(used)
        for action, comment in used:
            self.assertRegex(action, r"@[0-9a-f]{40}$")
            self.assertRegex(comment, r"# v\d+\.\d+\.\d+")
        self.assertIn('tags: ["v*"]', text)


if __name__ == "__main__":
    unittest.main()
