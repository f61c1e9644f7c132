"""Tests of comments, each on both forges."""

import time
import unittest
from unittest import mock

import gate
from stub_api import BOT, ME
from stub_job import EQUAL, WORSE, Job, result, told


class Comments(Job):
    def both(self):
        for run, author in ((self.on_github, BOT), (self.on_gitlab, ME)):
            with self.subTest(run.__name__):
                self.api.comments, self.api.calls, self.api.refused = [], [], {}
                self.says(1, WORSE)
                yield run, author

    def test_first_then_update(self):
        for run, _ in self.both():
            self.assertEqual(run()[0], 1)
            [(method, body)] = self.api.posted()
            self.assertEqual(method, "POST")
            self.assertRegex(body, r"^<!-- faultline-ci:[0-9a-f]{12} -->\n### Faultline: worse\n\nbbbbbbbbbbbb says\.\n\n\| program")
            self.assertIn("[Log](https://", body)
            self.says(0, EQUAL)
            self.assertEqual(run()[0], 0)
            self.assertEqual(len(self.api.comments), 1)
            self.assertIn("### Faultline: within budget", self.api.comments[0]["body"])

    def test_without_a_change_there_is_no_comment(self):
        for run, _ in self.both():
            self.says(0, EQUAL)
            run()
            self.assertEqual(self.api.posted(), [])
            run(COMMENT="always")
            self.assertEqual(len(self.api.posted()), 1)
            self.says(1, WORSE)
            run(COMMENT="never")
            self.assertEqual(len(self.api.posted()), 1)

    def test_improvements_and_failures_are_changes(self):
        for run, _ in self.both():
            for status, files in ((0, told(result("within", "better", -0.1))), (2, {})):
                self.api.calls, self.api.comments = [], []
                self.says(status, files)
                self.assertEqual(run()[0], status)
                self.assertEqual(len(self.api.posted()), 1)

    def test_a_comment_deleted_meanwhile(self):
        for run, _ in self.both():
            run()
            for code in (404, 410):
                self.api.calls = []
                self.api.refused = {"PATCH": code, "PUT": code}
                run()
                self.assertEqual([method for method, _ in self.api.posted()][1:], ["POST"])
            self.api.calls = []
            self.says(0, EQUAL)
            run()
            self.assertEqual(len(self.api.posted()), 1, "it is not made again without a change")

    def test_a_token_that_only_reads(self):
        for run, _ in self.both():
            self.api.refused = {"POST": 403}
            status, text = run()
            self.assertEqual(status, 1)
            self.assertRegex(text, "notice.*no comment: the API answers 403; hint: .*fork")
            self.assertEqual(run(TOKEN="")[0], 1)

    def test_an_api_that_does_not_answer(self):
        for run, _ in self.both():
            self.api.stalls = True
            began = time.monotonic()
            with mock.patch.multiple(gate, CALL_SECONDS=0.2, API_SECONDS=0.5):
                status, text = run()
            self.api.stalls = False
            self.assertLess(time.monotonic() - began, 2.5)
            self.assertEqual(status, 1)
            self.assertRegex(text, "notice.*no comment: the API does not answer as expected")

    def test_answers_of_another_kind(self):
        for run, _ in self.both():
            for answer in (b"<html>", b"3", b'[{"body": 7}]', b'[3]', b"null"):
                self.api.files = {"/repos/o/r/issues/5/comments": answer, "/projects/9/merge_requests/5/notes": answer}
                self.assertEqual(run()[0], 1)
            self.api.files = {}

    def test_the_second_page(self):
        for run, author in self.both():
            run()
            ours = self.api.comments.pop()["body"]
            for number in range(100):
                self.api.add(f"comment {number}", author)
            self.api.add(ours, author)
            self.says(0, EQUAL)
            run()
            self.assertEqual(len(self.api.comments), 101)
            self.assertIn("within budget", self.api.comments[100]["body"])

    def test_the_marker_in_other_comments(self):
        for run, author in self.both():
            run()
            ours = self.api.comments.pop()["body"]
            self.api.add(ours, "other[bot]" if author == BOT else 8)
            self.api.add(ours, None)
            self.api.add("> " + ours, author)
            run()
            self.assertEqual([comment["body"] == ours for comment in self.api.comments], [True, True, False, True])
            self.assertEqual(self.api.posted()[-1][0], "POST")

    def test_another_token_s_user(self):
        self.api.viewer = "someone"
        self.on_github()
        self.api.comments[0]["user"] = {"login": "someone"}
        self.on_github()
        self.assertEqual([method for method, _ in self.api.posted()], ["POST", "PATCH"])

    def test_two_gates_have_two_comments(self):
        for run, _ in self.both():
            run()
            run(COMMAND="./other")
            self.assertEqual(len(self.api.comments), 2)


if __name__ == "__main__":
    unittest.main()
