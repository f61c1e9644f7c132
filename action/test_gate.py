#!/usr/bin/env python3
"""Tests of the gate with stubs of Faultline and of both APIs, which record what would be posted."""

import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import gate

HERE = Path(__file__).resolve().parent
ZEROS = "0" * 40
BOT, ME = "github-actions[bot]", 7

# Does what the variable STUB says, and records its words and variables.
STUB = f"""#!{sys.executable}
import json, os, sys
stub = json.loads(os.environ["STUB"])
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


class Api(http.server.ThreadingHTTPServer):
    """Comments of a pull request, and of a merge request as notes. Also serves files."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.comments, self.files, self.calls, self.refused, self.stalls = [], {}, [], {}, False
        self.viewer = BOT
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def add(self, body, author):
        number = len(self.comments) + 1
        person = {"login": author} if isinstance(author, str) else None
        self.comments.append({"id": number, "body": body, "user": person, "author": {"id": author}})

    def posted(self):
        """Methods and bodies of requests that write comments."""
        return [(method, data["body"]) for method, path, data in self.calls if data and "body" in data]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers a request."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    do_POST = do_PATCH = do_PUT = do_GET

    def answer(self):
        api, path = self.server, self.path.partition("?")[0]
        size = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(size)) if size else None
        api.calls.append((self.command, self.path, data))
        if path in api.files:
            return self.send(200, api.files[path])
        if api.stalls:
            time.sleep(3)
        if not (self.headers.get("Authorization") == "Bearer secret" or self.headers.get("PRIVATE-TOKEN") == "secret"):
            return self.reply(401, {})
        if self.command in api.refused:
            return self.reply(api.refused[self.command], {"message": "no"})
        if path == "/graphql":
            return self.reply(200, {"data": {"viewer": {"login": api.viewer}}})
        if path == "/user":
            return self.reply(200, {"id": ME})
        if not re.fullmatch(r"/repos/o/r/issues/(5/)?comments(/\d+)?|/projects/9/merge_requests/5/notes(/\d+)?", path):
            return self.reply(404, {})
        if self.command == "GET":
            first = (int(re.search(r"[?&]page=(\d+)", self.path)[1]) - 1) * 100
            return self.reply(200, api.comments[first:first + 100])
        if self.command == "POST":
            api.add(data["body"], BOT if "/repos/" in path else ME)
            return self.reply(201, api.comments[-1])
        found = [comment for comment in api.comments if path.endswith(f"/{comment['id']}")]
        for comment in found:
            comment["body"] = data["body"]
        return self.reply(200 if found else 404, found)

    def reply(self, status, value):
        self.send(status, json.dumps(value).encode())

    def send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)


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


class Comments(Job):
    """Each on both forges."""

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


class Files(Job):
    def test_actions_are_pinned_and_no_input_reaches_a_shell(self):
        text = (HERE / "action.yml").read_text()
        self.assertRegex(text, r"(?m)^  using: composite$")
        used = re.findall(r"^\s*(?:- )?uses:\s*(.*)$", text, re.MULTILINE)
        self.assertEqual(len(used), 2)
        for name in used:
            self.assertRegex(name, r"^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
        for command in re.findall(r"^\s*(?:- )?run:(.*)$", text, re.MULTILINE):
            self.assertRegex(command, r'^ python3 -I "\$GITHUB_ACTION_PATH/gate\.py" \w+$')
        step = next(step for step in text.split("\n    - ") if "gate.py\" run" in step)
        self.assertNotIn("TOKEN", step)
        self.assertNotIn("\t", text)

    def test_inputs_are_those_of_the_program(self):
        read = set(re.findall(r'inputs(?:\(|\.get\()?"?([A-Z_]+)"', (HERE / "gate.py").read_text())) | {"BUDGET", "BY", "BUILD", "SUBJECTS"}
        passed = set(re.findall(r"FAULTLINE_CI_(\w+): \$\{\{ inputs", (HERE / "action.yml").read_text()))
        declared = set(re.findall(r"^  ([a-z-]+):$", (HERE / "action.yml").read_text().partition("outputs:")[0], re.MULTILINE))
        self.assertEqual({name.lower().replace("_", "-") for name in passed}, declared)
        self.assertLessEqual(read, passed)
        self.assertLessEqual(passed - {"TOKEN"}, set(re.findall(r"FAULTLINE_CI_(\w+):", (HERE / "gitlab.yml").read_text())))

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
