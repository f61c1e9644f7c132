"""Tests of annotations: places, kinds, and names that try to act on the runner."""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

from annotate import annotations
from stub_job import Job, result

ANNOTATE = Path(__file__).resolve().parent / "annotate.py"


def with_lines(verdict, *lines, quantity="instructions"):
    found = result("worse", verdict)
    found["programs"][0]["lines"] = [{"quantity": quantity, "function": "main", "file": "src/a.c", "line": 7, **line} for line in lines]
    return found


class Annotations(unittest.TestCase):
    def test_worse_lines_are_warnings_and_better_ones_notices(self):
        warning = "::warning file=src/a.c,line=7,title=Faultline::instructions of './prog 10' +3.00 %25: main, its code differs"
        self.assertEqual(annotations(with_lines("worse", {})), [warning])
        self.assertEqual(annotations(with_lines("better", {"delta": -20.4}))[0].partition("main")[2], ", -20 per execution")
        self.assertTrue(annotations(with_lines("better", {}))[0].startswith("::notice file="))
        self.assertEqual(annotations(with_lines("within", {})), [])
        self.assertEqual(annotations(with_lines("worse", {}, quantity="transfers")), [], "no row of that measure")

    def test_only_lines_of_files_in_the_repository_are_annotated(self):
        for line in ({"file": None}, {"line": None}, {"file": "/etc/passwd"}, {"file": "a/../../b"}, {"line": 0}, {"line": "7"}, {"file": 3}, {"file": "a\nb"}):
            self.assertEqual(annotations(with_lines("worse", line)), [], line)
        for shape in ({}, {"programs": 3}, {"programs": [{"lines": 3, "rows": [3]}]}, {"programs": [{"lines": [{}]}]}):
            self.assertEqual(annotations(shape), [], shape)
        self.assertEqual(len(annotations(with_lines("worse", *[{"line": number} for number in range(1, 30)]))), 10)

    def test_names_do_not_reach_the_runner(self):
        name = "x\n::set-output name=a::b\r%0A::error::c"
        found = with_lines("worse", {"function": name, "file": "a,line=1::b%0A.c"})
        found["programs"][0]["name"] = name
        [command] = annotations(found)
        self.assertNotRegex(command, r"[\r\n]|%(?!25|3A|2C)")
        self.assertRegex(command, r"^::warning file=a%2Cline=1%3A%3Ab%250A\.c,line=7,title=Faultline::")


class AsAStep(Job):
    def test_it_reads_the_report_and_does_without_one(self):
        def said(report):
            done = subprocess.run([sys.executable, "-I", str(ANNOTATE)], env={"FAULTLINE_CI_REPORT": str(report)}, capture_output=True, text=True, check=True)
            return done.stdout

        self.assertEqual(said(self.room).strip(), "")
        (self.room / "ci.json").write_text(json.dumps(with_lines("worse", {}, {"line": 9})))
        self.assertEqual(re.findall(r"line=(\d+)", said(self.room)), ["7", "9"])


if __name__ == "__main__":
    unittest.main()
