"""A job of either forge with a stub of Faultline, for the tests."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import gate
from stub_api import Api

# Does what the variable STUB says, and records its words and variables. A history grows by a
# letter.
STUB = f"""#!{sys.executable}
import json, os, sys
stub = json.loads(os.environ["STUB"])
if sys.argv[1] == "--db":
    with open(stub["record"] + "-history", "a") as file:
        file.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
    if sys.argv[3] == "serve":
        os.mkdir(sys.argv[5])
        with open(os.path.join(sys.argv[5], "index.html"), "w") as file:
            file.write("pages")
        sys.exit(0)
    with open(sys.argv[2], "a") as file:
        file.write("x")
    sys.exit(stub["status"])
report = sys.argv[sys.argv.index("--report") + 1]
with open(stub["record"], "w") as file:
    json.dump([sys.argv[1:], dict(os.environ)], file)
for name, text in stub["files"].items():
    with open(os.path.join(report, name), "w") as file:
        file.write(text)
print(stub["print"], flush=True)
print(stub["complain"], file=sys.stderr, flush=True)
sys.exit(stub["status"])
"""


def result(state, verdict, change=0.03, name="./prog 10"):
    row = {"quantity": "instructions", "base": 1e6, "head": 1.03e6, "change": change, "decides": True, "verdict": verdict}
    return {"state": state, "answer": f"bbbbbbbbbbbb is {state}: instructions of '{name}'.", "programs": [{"name": name, "rows": [row]}]}


def told(found, text="bbbbbbbbbbbb says.\n\n| program | verdict |\n|---|---|\n| ./prog 10 | it |\n"):
    return {"ci.json": json.dumps(found), "ci.md": text}


WORSE, EQUAL = told(result("worse", "worse")), told(result("within", "equal", 0.0))


def tarball(*members):
    """A compressed tarball of pairs: name, and content or a change of the member."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            if isinstance(content, dict):
                for key, value in content.items():
                    setattr(member, key, value)
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))
    return file.getvalue()


def link(target, kind=tarfile.SYMTYPE):
    return {"type": kind, "linkname": target}


class Job(unittest.TestCase):
    """A repository of three commits, a release with the stub, and a job's environment."""

    @classmethod
    def setUpClass(cls):
        os.environ["no_proxy"] = "127.0.0.1"
        cls.rooms = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.rooms.cleanup)
        cls.repository = Path(cls.rooms.name, "repository")
        cls.git("init", "-q", str(cls.repository), at=cls.rooms.name)
        for number in "123":
            cls.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", number)
        cls.commits = cls.git("rev-list", "--reverse", "HEAD").split()

    @classmethod
    def git(cls, *words, at=None):
        command = ["git", "-C", str(at or cls.repository), *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def setUp(self):
        self.room = Path(self.enterContext_(tempfile.TemporaryDirectory()))
        self.api = Api()
        self.addCleanup(self.api.server_close)
        self.addCleanup(self.api.shutdown)
        self.release(tarball(("faultline-0.1.0/", {"type": tarfile.DIRTYPE}), ("faultline-0.1.0/bin/faultline", STUB)))
        self.says(1, WORSE)

    def enterContext_(self, context):
        """As of Python 3.11."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def release(self, archive, sums=None):
        (self.room / "f.tar.gz").write_bytes(archive)
        (self.room / "SHA256SUMS").write_text(sums or f"{hashlib.sha256(archive).hexdigest()}  f.tar.gz\n")

    def says(self, status, files, text="a table", complain=""):
        """Sets the answer of Faultline."""
        self.stub = {"status": status, "files": files, "print": text, "complain": complain, "record": str(self.room / "record")}

    def environ(self, event="pull_request", **inputs):
        """The environment of a job on GitHub, or on GitLab if there is no event."""
        old, new = self.commits[1:]
        events = {"pull_request": {"pull_request": {"number": 5, "base": {"sha": old}, "head": {"sha": new}}},
                  "push": {"before": old, "after": new}}
        (self.room / "event").write_text(json.dumps(event if isinstance(event, dict) else events.get(event, {})))
        given = {"ARCHIVE": str(self.room / "f.tar.gz"), "COMMAND": "./prog '1 0'", "BUILD": "make -j2", "TOKEN": "secret"}
        common = {"PATH": os.environ["PATH"], "STUB": json.dumps(self.stub), "HOME": str(self.room),
                  **{"FAULTLINE_CI_" + name: value for name, value in {**given, **inputs}.items()}}
        if event is None:
            top = self.room / "project"
            top.mkdir(exist_ok=True)
            return {**common, "GITLAB_CI": "true", "CI_PROJECT_DIR": str(top), "CI_JOB_URL": "https://lab.example.org/j/1",
                    "CI_JOB_NAME": "faultline", "CI_MERGE_REQUEST_IID": "5", "CI_PROJECT_ID": "9", "CI_API_V4_URL": self.api.url,
                    "CI_MERGE_REQUEST_DIFF_BASE_SHA": old, "CI_COMMIT_SHA": new, "FAULTLINE_CI_DIRECTORY": str(self.repository),
                    "FAULTLINE_CI_SOURCE": "https://forge.example.org/o/r"}
        return {**common, "GITHUB_EVENT_NAME": event if isinstance(event, str) else "push", "GITHUB_EVENT_PATH": str(self.room / "event"),
                "GITHUB_WORKSPACE": str(self.repository), "GITHUB_SERVER_URL": "https://forge.example.org", "GITHUB_RUN_ID": "3",
                "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": self.api.url, "GITHUB_GRAPHQL_URL": self.api.url + "/graphql",
                "GITHUB_OUTPUT": str(self.room / "output"), "GITHUB_STEP_SUMMARY": str(self.room / "summary"),
                "RUNNER_TEMP": str(self.room), "GITHUB_WORKFLOW": "w", "GITHUB_JOB": "j"}

    def called(self, operation, environ):
        """Exit status and output of an operation, whose outputs replace earlier ones."""
        (self.room / "output").unlink(missing_ok=True)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = gate.main([operation], environ)
        return status, out.getvalue() + err.getvalue()

    def outputs(self):
        return dict(line.split("=", 1) for line in (self.room / "output").read_text().splitlines())

    def record(self):
        return json.loads((self.room / "record").read_text())

    def on_github(self, **inputs):
        """`run`, then `comment` with its outputs, as in action.yml."""
        environ = self.environ(**inputs)
        status, text = self.called("run", environ)
        outputs = self.outputs()
        after = {"FAULTLINE_CI_REPORT": outputs["report"], "FAULTLINE_CI_CHANGED": outputs["changed"]}
        commented, more = self.called("comment", {**environ, **after})
        self.assertEqual(commented, 0, more)
        return status, text + more

    def on_gitlab(self, **inputs):
        environ = self.environ(event=None, **inputs)
        status, text = self.called("gitlab", environ)
        subprocess.run(["rm", "-r", str(self.room / "project/faultline-report")], check=True)
        return status, text
