"""Tests of the history with a bare repository as the forge's."""

import contextlib
import io
import json
import unittest
from pathlib import Path

import history
from stub_job import Job


class History(Job):
    def setUp(self):
        super().setUp()
        self.forge = self.room / "forge/o/r"
        self.git("init", "-q", "--bare", str(self.forge), at=self.room)
        self.git("push", "-q", str(self.forge), "HEAD:refs/heads/main")
        self.says(0, {})
        self.badge = self.room / "badge.json"
        self.badge.write_text("{}")

    def job(self, event=None, **inputs):
        event = {**(event or {"after": self.commits[2]}), "repository": {"default_branch": "main"}}
        given = {"COMMAND": "", "HISTORY": "faultline/history", "BADGE": str(self.badge), **inputs}
        return {**self.environ(event, **given), "GITHUB_REF": "refs/heads/main", "GITHUB_SERVER_URL": (self.room / "forge").as_uri()}

    def step(self, operation, environ, **more):
        """Its output, and its outputs."""
        output = self.room / "output"
        output.unlink(missing_ok=True)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.assertEqual(history.main([operation], {**environ, **{"FAULTLINE_CI_" + name: value for name, value in more.items()}}), 0)
        return text.getvalue(), self.outputs() if output.exists() else {}

    def pushed(self, environ, between=lambda: None):
        """All steps, as in action.yml. Their output."""
        fetched, of_fetch = self.step("fetch", environ)
        if not of_fetch:
            return fetched
        without = {name: value for name, value in environ.items() if name != "FAULTLINE_CI_TOKEN"}
        measured, of_measure = self.step("measure", without, ROOM=of_fetch["room"])
        between()
        if not of_measure:
            return fetched + measured
        published, _ = self.step("publish", environ, ROOM=of_fetch["room"], OLD=of_fetch["old"], PAGES=of_measure["pages"])
        return fetched + measured + published

    def at_the_forge(self, *words):
        return self.git(*words, at=self.forge)

    def test_the_branch_keeps_pages_database_and_badge_in_one_commit(self):
        for pushes in (1, 2):
            self.assertNotIn("no history", self.pushed(self.job()))
            files = self.at_the_forge("ls-tree", "--name-only", "faultline/history").split()
            self.assertEqual(sorted(files), [".nojekyll", "badge.json", "history.sqlite", "index.html"])
            self.assertEqual(self.at_the_forge("cat-file", "blob", "faultline/history:history.sqlite"), "x" * pushes)
            self.assertEqual(self.at_the_forge("rev-list", "--count", "faultline/history"), "1")
        self.assertEqual(self.at_the_forge("log", "-1", "--format=%an", "faultline/history"), "github-actions[bot]")

    def test_measuring_gets_options_and_no_token(self):
        self.pushed(self.job(SUBJECTS="app web"))
        calls = [json.loads(line) for line in Path(self.stub["record"] + "-history").read_text().splitlines()]
        self.assertEqual([words[2:] for words, _ in calls], [["history", "run", "--trust", "app", "web"], ["serve", "--export", calls[1][0][4]]])
        for _, variables in calls:
            self.assertNotIn("secret", " ".join(variables.values()))
            self.assertFalse([name for name in variables if name.startswith("GIT_")])

    def test_only_pushes_of_the_default_branch(self):
        for changed in ({"GITHUB_REF": "refs/heads/other"}, {"GITHUB_EVENT_NAME": "pull_request"}):
            self.assertEqual(self.pushed({**self.job(), **changed}), "")
        self.assertEqual(self.at_the_forge("branch", "--format=%(refname:short)"), "main")

    def test_no_other_branch_is_replaced(self):
        self.git("push", "-q", str(self.forge), "HEAD:refs/heads/docs")
        for name, problem in (("main", "would replace the branch main"), ("docs", "has other files"), ("../x", "no name"), ("-f", "no name"), ("a..b", "no name")):
            self.assertRegex(self.pushed(self.job(HISTORY=name)), "warning.*no history: .*" + problem)
        for branch in ("main", "docs"):
            self.assertEqual(self.at_the_forge("rev-parse", branch), self.commits[2])

    def test_two_pushes_at_once(self):
        def other():
            # Equal files within a second would make the same commit.
            self.badge.write_text("{1}")
            self.pushed(self.job())
            self.badge.write_text("{}")

        text = self.pushed(self.job(), between=other)
        self.assertRegex(text, "warning.*no history: `git push` failed")
        self.assertEqual(self.at_the_forge("cat-file", "blob", "faultline/history:history.sqlite"), "x", "that of the first")

    def test_failures_are_warnings(self):
        self.assertRegex(self.pushed(self.job(COMMAND="./prog")), "warning.*needs a subject")
        self.says(1, {})
        self.assertRegex(self.pushed(self.job()), "warning.*ended with status 1; what it measured is kept")
        self.assertEqual(self.at_the_forge("cat-file", "blob", "faultline/history:history.sqlite"), "x")
        gone = {**self.job(), "GITHUB_SERVER_URL": (self.room / "nowhere").as_uri()}
        self.assertRegex(self.pushed(gone), "warning.*no history: `git ls-remote` failed: .*contents: write")

    def test_links_of_measured_programs_are_refused(self):
        secret = self.room / "secret"
        secret.write_text("secret")
        environ = self.job()
        _, of_fetch = self.step("fetch", environ)
        _, of_measure = self.step("measure", environ, ROOM=of_fetch["room"])
        database = Path(of_fetch["room"], "history.sqlite")
        database.unlink()
        database.symlink_to(secret)
        text, _ = self.step("publish", environ, ROOM=of_fetch["room"], OLD="", PAGES=of_measure["pages"])
        self.assertRegex(text, "warning.*changed the pages")
        self.assertEqual(self.at_the_forge("branch", "--format=%(refname:short)"), "main")


if __name__ == "__main__":
    unittest.main()
