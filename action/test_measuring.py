"""Tests of measuring: options, ranges, statuses, and the files of a report."""

import json
import unittest
from pathlib import Path

from stub_job import EQUAL, WORSE, Job, result, told

ZEROS = "0" * 40


class Measuring(Job):
    def run_with(self, event="pull_request", **inputs):
        return self.called("run", self.environ(event, **inputs))

    def test_options_reach_faultline_and_secrets_do_not(self):
        environ = {**self.environ(BUDGET="2%", BY="transfers", OPTIONS="--keep 'a b'"), "GITHUB_TOKEN": "secret", "DB_PASSWORD": "secret",
                   "ACTIONS_RUNTIME_URL": "secret"}
        self.assertEqual(self.called("run", environ)[0], 1)
        words, variables = self.record()
        report = self.outputs()["report"]
        self.assertEqual(words, ["ci", "{1}...{2}".format(*self.commits), "--report", report, "--budget=2%", "--by=transfers",
                                 "--build=make -j2", "--keep", "a b", "--", "./prog", "1 0"])
        self.assertNotIn("secret", variables.values())
        self.assertFalse(set(variables) & {"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "FAULTLINE_CI_TOKEN"})

    def test_subjects_are_trusted(self):
        self.run_with(COMMAND="", BUILD="", SUBJECTS="app web")
        self.assertEqual(self.record()[0][2:4], ["app", "web"])
        self.assertEqual(self.record()[0][-1], "--trust")

    def test_statuses(self):
        for status, files, state, expected in [
                (0, EQUAL, "within", 0), (1, WORSE, "worse", 1), (2, told(result("not-measured", "equal")), "not-measured", 2),
                (2, {}, "not-measured", 2), (101, {}, "not-measured", 2), (0, {}, "not-measured", 2), (0, {"ci.json": "[1"}, "not-measured", 2)]:
            with self.subTest(status=status, files=list(files)):
                self.says(status, files, complain="faultline: no commit 'x'\nhint: fetch it")
                code, text = self.run_with()
                self.assertEqual((code, self.outputs()["state"]), (expected, state), text)
                if status == 0 and state == "not-measured":
                    self.assertIn("wrote no ci.json that can be read", text)
                if status == 2 and not files:
                    self.assertIn("::error title=Faultline::Could not measure: no commit 'x'; hint: fetch it.", text)
                    self.assertIn("Could not measure", (self.room / "summary").read_text())
        self.says(2, {})
        code, text = self.run_with(FAIL_ON_ERROR="false")
        self.assertEqual((code, self.outputs()["status"]), (0, "2"))
        self.assertIn("::warning title=Faultline::Could not measure", text)

    def test_summary_and_badge(self):
        self.run_with()
        self.assertIn("### Faultline: worse\n\nbbbbbbbbbbbb says.", (self.room / "summary").read_text())
        badge = json.loads(Path(self.outputs()["badge"]).read_text())
        self.assertEqual(badge, {"schemaVersion": 1, "label": "faultline", "message": "instructions +3.00 %", "color": "red"})
        self.says(0, EQUAL)
        self.run_with()
        self.assertEqual(json.loads(Path(self.outputs()["badge"]).read_text())["message"], "within budget")

    def test_ranges_of_pushes(self):
        first, second, third = self.commits
        for event, expected in [({"before": first, "after": third}, f"{first}..{third}"), ({"before": ZEROS, "after": third}, f"{second}..{third}"),
                                ({"before": "f" * 40, "after": third}, f"{second}..{third}"), ({}, f"{second}..{third}"),
                                ({"before": third, "after": second}, f"{first}..{second}"),
                                ({"merge_group": {"base_sha": first, "head_sha": second}}, f"{first}..{second}")]:
            text = self.run_with(event)[1]
            self.assertEqual(self.record()[0][1], expected)
            self.assertEqual("lacks the commit before this push" in text, event.get("before") == "f" * 40, text)
        code, text = self.run_with({"before": ZEROS, "after": first})
        self.assertEqual((code, self.outputs()["state"]), (0, "skipped"))
        self.assertIn("::notice title=Faultline::the first commit", text)

    def test_commits_that_are_not_there(self):
        shallow = self.room / "shallow"
        self.git("clone", "-q", "--depth", "1", self.repository.as_uri(), str(shallow), at=self.room)
        for event in ("pull_request", "push"):
            code, text = self.called("run", {**self.environ(event), "GITHUB_WORKSPACE": str(shallow)})
            self.assertEqual(code, 2)
            self.assertRegex(text, "::error title=Faultline::Could not measure: the checkout .*fetch-depth: 0")

    def test_the_privileged_event_is_refused(self):
        code, text = self.run_with("pull_request_target")
        self.assertEqual(code, 2)
        self.assertIn("would run code of a branch with secrets", text)
        self.assertFalse((self.room / "record").exists())

    def test_plan_names_the_cache(self):
        self.assertEqual(self.called("plan", self.environ())[0], 0)
        outputs = self.outputs()
        self.assertEqual(outputs["cache"], str(self.room / ".cache/faultline"))
        prefix = outputs["key"].removesuffix(self.commits[1])
        self.assertRegex(prefix, r"^faultline-0\.1\.0-\w+-[0-9a-f]{12}-$")
        self.called("plan", self.environ("push"))
        self.assertEqual(self.outputs()["key"], prefix + self.commits[2], "the new commit is the old one of later requests")
        self.called("plan", self.environ(COMMAND="./other"))
        self.assertFalse(self.outputs()["key"].startswith(prefix))
        self.called("plan", self.environ("pull_request_target"))
        self.assertFalse((self.room / "output").exists(), "`run` reports it")

    def test_gates_without_their_environment_fail_in_a_line(self):
        for environ in ({}, {"GITLAB_CI": "true"}):
            code, text = self.called("run", environ)
            self.assertEqual((code, text.count("\n")), (2, 1), text)


if __name__ == "__main__":
    unittest.main()
