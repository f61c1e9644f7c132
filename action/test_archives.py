"""Tests of the release that is unpacked: checksums, places of files, and downloads."""

import hashlib
import tarfile
import unittest
from unittest import mock

import gate
from stub_job import STUB, Job, link, tarball


class Archives(Job):
    def refused(self, problem, **inputs):
        code, text = self.called("run", self.environ(**inputs))
        self.assertEqual(code, 2)
        errors = [line for line in text.splitlines() if line.startswith("::error")]
        self.assertEqual(len(errors), 1, text)
        self.assertIn(problem, errors[0])
        self.assertFalse((self.room / "record").exists(), "it was started")

    def test_a_wrong_or_missing_checksum(self):
        archive = (self.room / "f.tar.gz").read_bytes()
        self.release(archive, "0" * 64 + "  f.tar.gz\n")
        self.refused("f.tar.gz does not have the SHA-256 of SHA256SUMS")
        self.release(archive, hashlib.sha256(archive).hexdigest() + "  other.tar.gz\n")
        self.refused("lists f.tar.gz 0 times")
        (self.room / "SHA256SUMS").unlink()
        self.refused("cannot read ")

    def test_files_that_leave_the_directory(self):
        program = ("bin/faultline", STUB)
        for members in [[("../evil", "x")], [("/tmp/evil", "x")], [("a/../../evil", "x")], [("up", link(".."))], [("etc", link("/etc"))],
                        [("here", link("sub")), ("here/evil", "x")], [("hard", link("../../etc/passwd", tarfile.LNKTYPE))],
                        [("a/b/up", link("../..")), ("out", link("a/b/up/../evil"))], [("null", {"type": tarfile.CHRTYPE})],
                        [("pipe", {"type": tarfile.FIFOTYPE})]]:
            with self.subTest(members=members):
                self.release(tarball(program, *members))
                self.refused("f.tar.gz has files that do not belong into it")

    def test_links_that_stay_are_unpacked(self):
        self.release(tarball(("d/lib/x.so.1", "x"), ("d/lib/x.so", link("x.so.1")), ("d/share/x", link("../lib/x.so")), ("d/a/b/up", link("../..")),
                             ("d/share/faultline/bin", STUB), ("d/bin/faultline", link("d/share/faultline/bin", tarfile.LNKTYPE))))
        self.assertEqual(self.called("run", self.environ())[0], 1)

    def test_no_tarball_or_no_program(self):
        self.release(b"no tarball")
        self.refused("cannot unpack f.tar.gz")
        self.release(tarball(("README", "x")))
        self.refused("contains no program faultline")

    def test_a_url(self):
        for name in ("f.tar.gz", "SHA256SUMS"):
            self.api.files["/d/" + name] = (self.room / name).read_bytes()
        self.assertEqual(self.called("run", self.environ(ARCHIVE=self.api.url + "/d/f.tar.gz"))[0], 1)
        (self.room / "record").unlink()
        self.refused("HTTP Error 401", ARCHIVE=self.api.url + "/gone/f.tar.gz")
        self.refused("is not HTTPS", ARCHIVE="http://example.org/f.tar.gz")
        self.refused("is not HTTPS", ARCHIVE="file:///etc/passwd")

    def test_redirects_stay_safe(self):
        follow = gate.SafeRedirects().redirect_request
        plain = gate.urllib.request.Request("https://example.org/a")
        secret = gate.urllib.request.Request("https://example.org/a", headers={"PRIVATE-TOKEN": "secret"})
        self.assertIsNotNone(follow(plain, None, 302, "", {}, "https://example.net/b"))
        self.assertIsNone(follow(plain, None, 302, "", {}, "http://example.net/b"))
        self.assertIsNone(follow(secret, None, 302, "", {}, "https://example.net/b"))

    def test_the_release_of_the_action_s_repository(self):
        place = "/w/_actions/o/faultline/v0.1.0/action/gate.py"
        with mock.patch.object(gate, "__file__", place):
            self.assertEqual(gate.GitHub(self.environ()).source(), "https://forge.example.org/o/faultline")
        self.refused("an action in a checkout has no release", ARCHIVE="")
        self.refused("'../x' is no version", ARCHIVE="", VERSION="../x")


if __name__ == "__main__":
    unittest.main()
