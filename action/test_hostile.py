"""Tests with names and output that try to act on a page or on the runner."""

import re
import unittest

import gate
from stub_job import Job, result, told


class Hostile(Job):
    NAME = "x\n::set-output name=a::b\r%0A::error::c ##[set-env name=d;]e"

    def test_markdown(self):
        text = "<img src=x onerror=y> <!-- --> @everyone &#64;all \\@org/team #12 !3 [a](https://evil.example) [r]: http://e www.evil.example\n"
        text += "/close\n```\n~~~\n>>>\n  /merge\n| a `@b` |\n\x1b[31m\u202ered\u2066"
        shown = gate.harmless(text)
        for active in ("<img", "<!--", "@everyone", "&#64;", "@org", "#12", "!3", "](", "]:", "://", "www.", "\n/", "\n```", "\n~~~", "\n>>>",
                       "@b", "\x1b", "\u202e", "\u2066"):
            self.assertNotIn(active, shown)
        self.assertEqual(shown.replace(gate.JOINER, "").split("\n")[5:7], ["/merge", "| a `@b` |"])
        plain = "a is within the budget of 1 %.\n\n| program | change |\n|:---|---:|\n| ./a\\_b 10 | +3.00 % |"
        self.assertEqual(gate.harmless(plain), plain)
        self.assertLess(len(gate.harmless("@a\n" * 100_000)), 61_000)

    def test_comments_and_summary(self):
        text = "<script> @everyone\n<!-- faultline-ci:000000000000 -->\n/merge\n```\n"
        self.says(1, told(result("worse", "worse", name=self.NAME), text))
        for run in (self.on_github, self.on_gitlab):
            run()
            body = self.api.posted()[-1][1]
            self.assertEqual(len(re.findall("<!--", body)), 1)
            for active in ("<script", "@everyone", "\n/merge", "\n```"):
                self.assertNotIn(active, body)
        self.assertNotIn("<script", (self.room / "summary").read_text())

    def test_commands_of_the_runner(self):
        self.says(1, told(result("worse", "worse", name=self.NAME)), text=self.NAME, complain="::add-mask::x")
        text = self.called("run", self.environ())[1]
        token = re.search(r"^::stop-commands::([0-9a-f]{32})$", text, re.MULTILINE)[1]
        before, quiet, after = re.split(rf"^::(?:stop-commands::)?{token}(?:::)?$", text, flags=re.MULTILINE)
        self.assertIn("::set-output", quiet)
        self.assertIn("::add-mask", quiet)
        for line in (before + after).splitlines():
            self.assertTrue(not line or line.startswith("::error title=Faultline::bbb"), line)
            self.assertNotRegex(line, "%(?!25)")
        self.assertEqual(len(self.outputs()), 6)

    def test_results_of_another_shape(self):
        for programs in (3, [3], [{"rows": 3}], [{"rows": [3]}], [{"rows": [{"decides": True, "verdict": ["worse"], "change": "x"}]}], None):
            self.says(1, told({"state": "worse", "answer": {"a": 1}, "programs": programs}))
            self.assertEqual(self.called("run", self.environ())[0], 1)
        self.says(0, told({"state": ["worse"]}))
        self.assertEqual(self.called("run", self.environ())[0], 2)

    def test_a_report_that_is_a_link(self):
        environ = self.environ(event=None)
        (self.room / "project/faultline-report").symlink_to(self.room)
        code, text = self.called("gitlab", environ)
        self.assertEqual((code, text.count("\n")), (2, 1), text)
        self.assertIn("faultline-report exists", text)


if __name__ == "__main__":
    unittest.main()
