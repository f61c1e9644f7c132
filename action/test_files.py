"""Tests of action.yml and gitlab.yml beside the programs that they start."""

import hashlib
import re
import subprocess
import unittest
from pathlib import Path

import gate
from stub_job import Job

HERE = Path(__file__).resolve().parent


class Files(Job):
    def test_actions_are_pinned_and_no_input_reaches_a_shell(self):
        text = (HERE / "action.yml").read_text()
        self.assertRegex(text, r"(?m)^  using: composite$")
        used = re.findall(r"^\s*(?:- )?uses:\s*(.*)$", text, re.MULTILINE)
        self.assertEqual(len(used), 2)
        for name in used:
            self.assertRegex(name, r"^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
        for command in re.findall(r"^\s*(?:- )?run:(.*)$", text, re.MULTILINE):
            self.assertRegex(command, r'^ python3 -I "\$GITHUB_ACTION_PATH/(gate|annotate|history)\.py"( \w+)?$')
        steps = [step for step in text.split("\n    - ") if "FAULTLINE_CI_TOKEN:" in step]
        self.assertEqual(re.findall(r'\.py" (\w+)', "".join(steps)), ["comment", "fetch", "publish"], "these run no commit's code")
        self.assertNotIn("\t", text)

    def test_inputs_are_those_of_the_program(self):
        programs = "".join((HERE / name).read_text() for name in ("gate.py", "history.py"))
        read = set(re.findall(r'inputs(?:\(|\.get\()?"?([A-Z_]+)"', programs)) - {"OLD"} | {"BUDGET", "BY", "BUILD", "SUBJECTS"}
        passed = set(re.findall(r"FAULTLINE_CI_(\w+): \$\{\{ inputs", (HERE / "action.yml").read_text()))
        declared = set(re.findall(r"^  ([a-z-]+):$", (HERE / "action.yml").read_text().partition("outputs:")[0], re.MULTILINE))
        self.assertEqual({name.lower().replace("_", "-") for name in passed}, declared)
        self.assertLessEqual(read, passed)
        self.assertLessEqual(passed - {"TOKEN", "HISTORY"}, set(re.findall(r"FAULTLINE_CI_(\w+):", (HERE / "gitlab.yml").read_text())))

    def test_the_template_runs_this_program_only(self):
        text = (HERE / "gitlab.yml").read_text()
        program = (HERE / "gate.py").read_bytes()
        digest = hashlib.sha256(program).hexdigest()
        self.assertIn(f'FAULTLINE_CI_GATE_SHA256: "{digest}"', text, "write the program's new SHA-256 into gitlab.yml")
        self.assertIn(f'FAULTLINE_CI_VERSION: "{gate.VERSION}"', text)
        script = re.search(r"^    - \|\n((?:      .*\n)+)", text, re.MULTILINE)[1]
        for content, expected in ((program, 1), (program + b"\n", 1)):
            self.api.files["/gate.py"] = content
            environ = {**self.environ(event=None), "FAULTLINE_CI_GATE": self.api.url + "/gate.py", "FAULTLINE_CI_GATE_SHA256": digest}
            done = subprocess.run(["sh", "-ec", re.sub("(?m)^      ", "", script)], env=environ, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, expected, done.stderr)
            if content == program:
                self.assertIn("faultline: error: bbbbbbbbbbbb is worse", done.stdout)
            else:
                self.assertIn("gate.py is not the one of this template", done.stderr)
        self.assertEqual(len(self.api.posted()), 1)


if __name__ == "__main__":
    unittest.main()
