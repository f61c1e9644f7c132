"""Tests that packages are unpacked completely or not at all, from a mirror that apt trusts."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from hashlib import sha256
from pathlib import Path

OWN = subprocess.run(["sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME"], capture_output=True, text=True).stdout.strip()
HAS_APT = shutil.which("apt-get") and shutil.which("dpkg-deb")
SCRIPTS = Path(__file__).parent


def executable(file, script):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n" + script)
    file.chmod(0o755)


class Tree(unittest.TestCase):
    """A copy of the scripts in a tree of their own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        self.environment.pop("FAULTLINE_QEMU", None)
        for script in SCRIPTS.glob("*.sh"):
            (self.root / "packages").mkdir(exist_ok=True)
            shutil.copy(script, self.root / "packages")

    def start(self, script, *arguments):
        return subprocess.Popen([self.root / "packages" / script, *arguments], cwd=self.root, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run_script(self, script, *arguments):
        process = self.start(script, *arguments)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output, errors

    def assert_refused(self, result, problem, hint):
        status, _, errors = result
        lines = errors.splitlines()
        self.assertEqual((status, len(lines)), (1, 2), errors)
        self.assertIn(problem, lines[0])
        self.assertTrue(lines[1].startswith("hint: ") and hint in lines[1], errors)

    def path(self, name, script):
        """Puts a program before all others in PATH."""
        executable(self.root / "bin" / name, script)
        self.environment["PATH"] = f"{self.root / 'bin'}:{os.environ['PATH']}"


@unittest.skipUnless(HAS_APT, "no apt here")
class Unpacking(Tree):
    """With an archive in a directory instead of a mirror."""

    def setUp(self):
        super().setUp()
        self.archive = self.root / "archive"
        self.package("loop", "tool", depends="tool-data, libother")
        self.package("loop", "tool-data")
        self.package("loop", "libother")
        self.publish("loop")
        (self.root / "etc/sources.list.d").mkdir(parents=True)
        (self.root / "etc/apt.conf.d").mkdir()
        (self.root / "etc/preferences.d").mkdir()
        (self.root / "apt.conf").write_text(f'Dir::Etc "{self.root}/etc";\n')
        self.environment["APT_CONFIG"] = str(self.root / "apt.conf")
        self.sources("one-line", "trusted=yes")

    def package(self, suite, name, depends=None):
        tree = self.root / "trees" / name
        (tree / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: 1:2.0-3\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: a test\n"
        (tree / "DEBIAN/control").write_text(control + (f"Depends: {depends}\n" if depends else ""))
        executable(tree / "usr/bin" / name, "echo hello\n")
        (tree / "usr/share/man").mkdir(parents=True)
        (tree / "usr/share/man" / name).write_text("manual")
        (self.archive / "pool").mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, self.archive / f"pool/{name}.deb"], check=True, capture_output=True)

    def publish(self, suite):
        """Writes the suite's list of packages, without a signature."""
        lists = self.archive / "dists" / suite
        architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
        entries = []
        for file in sorted((self.archive / "pool").iterdir()):
            control = subprocess.run(["dpkg-deb", "-f", file], capture_output=True, text=True).stdout
            entries.append(f"{control}Filename: pool/{file.name}\nSize: {file.stat().st_size}\nSHA256: {sha256(file.read_bytes()).hexdigest()}\n")
        name = f"main/binary-{architecture}/Packages"
        (lists / name).parent.mkdir(parents=True, exist_ok=True)
        (lists / name).write_text("\n".join(entries))
        content = (lists / name).read_bytes()
        (lists / "Release").write_text(f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: {architecture}\n"
                                       f"SHA256:\n {sha256(content).hexdigest()} {len(content)} {name}\n")

    def sources(self, form, trusted):
        """This machine's source of its own suite, among others that must not be taken."""
        place = self.root / "etc/sources.list.d"
        for file in place.iterdir():
            file.unlink()
        uri = f"file:{self.archive}"
        if form == "one-line":
            (place / "own.list").write_text(f"# a comment\ndeb-src {uri} {OWN} main\ndeb {uri}/security {OWN}-security main\n"
                                            f"deb [{trusted} lang=none] {uri} {OWN} main contrib\n")
        else:
            option = trusted.replace("=", ": ").capitalize()
            (place / "own.sources").write_text(
                f"Types: deb\nURIs: {uri}/off\nSuites: {OWN}\nComponents: main\nEnabled: no\n\n"
                f"Types: deb deb-src\n# a comment\nURIs: {uri}\nSuites: {OWN} {OWN}-updates\nComponents: main contrib\n{option}\n\n"
                f"Types: deb\nURIs: {uri}/security\nSuites: {OWN}-security\nComponents: main\n")

    def unpack(self, suite="loop", package="tool", pattern="tool-.*", left_out="./usr/share/man"):
        return self.run_script("unpack.sh", "target/made", suite, package, pattern, left_out)

    def assert_whole(self):
        made = self.root / "target/made"
        self.assertEqual((made / "packages").read_text(), "tool-data 1:2.0-3\ntool 1:2.0-3\n")
        files = sorted(str(file.relative_to(made)) for file in made.rglob("*") if file.is_file())
        self.assertEqual(files, ["left-out", "packages", "usr/bin/tool", "usr/bin/tool-data"])
        self.assertEqual(list((self.root / "target/packages").glob("new")), [])

    def test_a_package_and_its_parts_are_unpacked_from_either_form_of_sources(self):
        for form in ("one-line", "stanzas"):
            with self.subTest(form):
                self.sources(form, "trusted=yes")
                self.assertEqual(self.unpack(), (0, "", ""))
                self.assert_whole()
                shutil.rmtree(self.root / "target/made")

    def test_what_is_there_is_left_alone_without_asking_apt(self):
        self.assertEqual(self.unpack(), (0, "", ""))
        self.path("apt-get", "exit 7\n")
        self.assertEqual(self.unpack(), (0, "", ""))

    def test_what_was_unpacked_with_other_patterns_is_unpacked_again_and_stays_if_that_fails(self):
        made = self.root / "target/made"
        self.assertEqual(self.unpack(left_out="./usr/bin/tool-data"), (0, "", ""))
        self.assertFalse((made / "usr/bin/tool-data").exists())
        self.path("apt-get", "echo 'E: no route' >&2; exit 7\n")
        status, _, errors = self.unpack()
        self.assertEqual(status, 0)
        self.assertEqual(errors, "target/made stays as an older version unpacked it: no route\n")
        self.assertTrue((made / "usr/bin/tool").exists())
        (self.root / "bin/apt-get").unlink()
        self.assertEqual(self.unpack(), (0, "", ""))
        self.assert_whole()

    def test_what_is_not_signed_or_not_there_is_refused(self):
        self.assert_refused(self.unpack(package="hammer"), "cannot get hammer of loop: there is no such package", "renamed")
        self.sources("stanzas", "trusted=no")
        self.assert_refused(self.unpack(suite="square"), "does not have a Release file", "no suite square")
        self.assert_refused(self.unpack(), "is not signed", "debian-archive-keyring")
        (self.root / "etc/sources.list.d/own.sources").unlink()
        self.assert_refused(self.unpack(), f"no source of its own suite '{OWN}'", "the same mirror")
        self.assertFalse((self.root / "target/made").exists())

    def test_a_package_that_was_changed_is_refused(self):
        self.assertEqual(self.unpack(), (0, "", ""))
        shutil.rmtree(self.root / "target/made")
        file = self.archive / "pool/tool-data.deb"
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        self.assert_refused(self.unpack(), "Hash Sum mismatch", "mirror")
        self.assertFalse((self.root / "target/made").exists())

    def test_a_kill_leaves_nothing_half_and_the_next_try_succeeds(self):
        self.path("apt-get", f"case \"$*\" in *download*) kill -KILL 0 ;; esac\nexec {shutil.which('apt-get')} \"$@\"\n")
        status, _, _ = self.unpack()
        self.assertEqual(status, -signal.SIGKILL)
        self.assertFalse((self.root / "target/made").exists())
        (self.root / "bin/apt-get").unlink()
        self.assertEqual(self.unpack(), (0, "", ""))
        self.assert_whole()

    def test_two_at_once_make_one(self):
        both = [self.start("unpack.sh", "target/made", "loop", "tool", "tool-.*", "./usr/share/man") for _ in range(2)]
        for process in both:
            self.assertEqual(process.communicate(timeout=60), ("", ""))
            self.assertEqual(process.returncode, 0)
        self.assert_whole()


def emulator(version):
    return f"echo 'QEMU emulator version {version} (a fake)'\n"


class Emulator(Tree):
    def test_a_machine_with_a_new_one_needs_no_other(self):
        self.path("qemu-system-x86_64", emulator("10.0.2"))
        self.assertEqual(self.run_script("emulator.sh", "needs"), (0, "qemu-system-x86_64=qemu-system-x86\n", ""))
        self.assertEqual(self.run_script("emulator.sh"), (0, "", ""))
        self.assertFalse((self.root / "target").exists())

    def test_a_named_one_must_be_new(self):
        for version, script in (("7.2.22", emulator("7.2.22")), ("none", "exit 1\n")):
            with self.subTest(version):
                executable(self.root / "mine", script)
                self.environment["FAULTLINE_QEMU"] = str(self.root / "mine")
                self.assertEqual(self.run_script("emulator.sh", "needs"), (0, "", ""))
                self.assert_refused(self.run_script("emulator.sh"), "mine is not QEMU 10 or newer", "unset it")
        executable(self.root / "mine", emulator("11.1.3"))
        self.assertEqual(self.run_script("emulator.sh"), (0, "", ""))

    def test_an_old_one_is_replaced_on_debian_12_and_refused_elsewhere(self):
        self.path("qemu-system-x86_64", emulator("7.2.22"))
        executable(self.root / "packages/unpack.sh", "echo \"$*\" >asked; mkdir -p \"$1/usr/bin\"; cp new \"$1/usr/bin/qemu-system-x86_64\"\n")
        executable(self.root / "new", emulator("10.0.2"))
        if OWN != "bookworm":
            self.assert_refused(self.run_script("emulator.sh"), "7.2.22 is older than 10", "FAULTLINE_QEMU")
            return
        self.assertIn(" libslirp0 ", self.run_script("emulator.sh", "needs")[1])
        self.assertEqual(self.run_script("emulator.sh"), (0, "", "unpacking QEMU of bookworm-backports into target/qemu\n"))
        self.assertTrue((self.root / "asked").read_text().startswith("target/qemu bookworm-backports qemu-system-x86 "))
        # It finds its files below this name.
        self.assertTrue((self.root / "target/qemu/usr/bin/qemu-bundle/usr/bin/qemu-system-x86_64").samefile(
            self.root / "target/qemu/usr/bin/qemu-system-x86_64"))
        self.assertEqual(self.run_script("emulator.sh"), (0, "", ""))
        executable(self.root / "target/qemu/usr/bin/qemu-system-x86_64", "echo 'libaio.so.1: cannot open' >&2; exit 127\n")
        self.assert_refused(self.run_script("emulator.sh"), "does not start: libaio.so.1: cannot open", "delete target/qemu")


class OwnEmulator(unittest.TestCase):
    def test_each_patch_is_whole_and_says_why(self):
        added = 0
        for patch in sorted((SCRIPTS.parent / "lens/emulator/patches").iterdir()):
            with self.subTest(patch.name):
                head = patch.read_text().partition("\ndiff --git ")[0]
                self.assertIn("Licence: GPL-2.0-or-later", head)
                self.assertGreater(len(head.splitlines()), 4)
                files = subprocess.run(["git", "apply", "--numstat", patch.resolve()], cwd="/", check=True, capture_output=True, text=True).stdout
                added += sum(int(file.split()[0]) for file in files.splitlines())
        self.assertTrue(0 < added <= 400, f"{added} lines: the patches are to stay small")


class NewestEmulator(Tree):
    def unpacked(self, loader):
        """A made-up package: its loader prints a version and its arguments, or fails."""
        executable(self.root / "packages/unpack.sh", f"mkdir -p \"$1/usr/lib64\" \"$1/usr/lib/x\"; cp {self.root}/loader \"$1/usr/lib/x/ld.so\"\n"
                   "ln -sf ../lib/x/ld.so \"$1/usr/lib64/ld-linux-x86-64.so.2\"\n")
        executable(self.root / "loader", loader)
        return self.run_script("newest-emulator.sh")

    def test_it_is_started_by_its_own_loader_with_its_own_libraries(self):
        status, output, _ = self.unpacked("echo \"QEMU emulator version 11.1.3: $*\"\n")
        tree = self.root / "target/qemu-newest"
        self.assertEqual((status, output), (0, f"{tree}/qemu-system-x86_64\n"))
        said = subprocess.run([output.strip(), "-S"], capture_output=True, text=True).stdout
        self.assertEqual(said, f"QEMU emulator version 11.1.3: --library-path {tree}/usr/lib/x --argv0 qemu-system-x86_64 {tree}/usr/bin/qemu-system-x86_64 -S\n")
        self.assertTrue((tree / "usr/lib/x/qemu-bundle").samefile(tree))

    def test_one_that_does_not_start_is_refused(self):
        status, output, errors = self.unpacked("echo no such library >&2; exit 127\n")
        self.assertEqual((status, output), (1, ""))
        self.assertIn("does not start: no such library; hint: delete it", errors)


class Kernels(Tree):
    def test_each_suite_has_its_own_and_its_version_is_printed(self):
        executable(self.root / "packages/unpack.sh", "mkdir -p \"$1/boot\"; touch \"$1/boot/vmlinuz-6.1.0-9-amd64\"\n"
                   "printf 'linux-image-6.1.0-9-amd64 6.1.20-2\\nlinux-image-amd64 6.1.20-2\\n' >\"$1/packages\"\n")
        status, output, _ = self.run_script("kernels.sh", "bookworm")
        self.assertEqual((status, output), (0, "target/kernels/bookworm/vmlinuz 6.1.0-9-amd64\n"))
        self.assertTrue((self.root / "target/kernels/bookworm/vmlinuz").is_file())

    def test_flavours_are_packages_of_their_own_in_places_of_their_own(self):
        executable(self.root / "packages/unpack.sh", "echo \"$2 $3\" >>asked; mkdir -p \"$1/boot\"; touch \"$1/boot/vmlinuz-6-rt-amd64\"\n"
                   "printf 'linux-image-6-rt-amd64 6-1\\n' >\"$1/packages\"\n")
        status, output, _ = self.run_script("kernels.sh", "bookworm/rt", "trixie/cloud", "sid")
        self.assertEqual(status, 0)
        self.assertEqual([line.split()[0] for line in output.splitlines()], [
            f"target/kernels/{place}/vmlinuz" for place in ("bookworm-rt", "trixie-cloud", "sid")])
        self.assertEqual((self.root / "asked").read_text(), "bookworm linux-image-rt-amd64\ntrixie linux-image-cloud-amd64\nsid linux-image-amd64\n")


if __name__ == "__main__":
    unittest.main()
