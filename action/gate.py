#!/usr/bin/env python3
"""Runs `faultline ci` in a job of GitHub or GitLab, and reports to the pull or merge request.

    gate.py plan     GitHub: the directory of builds and the key of its cache, as outputs
    gate.py run      GitHub: measures; writes the summary, badge.json, comment.md and outputs
    gate.py comment  GitHub: posts comment.md. A step of its own, as only this one has the token
    gate.py gitlab   measures and comments

Inputs are the variables FAULTLINE_CI_NAME, with the names of action.yml. Names, paths and output of
the measured commits come from their authors. None of them reaches a shell, and `harmless` and `say`
disarm them for Markdown and the log.
"""

import hashlib
import http.client
import io
import json
import os
import platform
import posixpath
import re
import secrets
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

VERSION = "0.1.0"
# Names in a release.
ARCHIVE = "faultline-{version}-{architecture}-linux.tar.gz"
SUMS = "SHA256SUMS"

MOST_DOWNLOAD, MOST_UNPACKED, MOST_ANSWER = 256 << 20, 2 << 30, 16 << 20
DOWNLOAD_SECONDS, CALL_SECONDS, API_SECONDS = 300, 15, 60
# Comments of a page, and pages to search for ours.
PAGE, PAGES = 100, 50
# GitHub takes 65536 characters.
COMMENT_LETTERS = 60_000

# Variables that the measured program does not get: secrets, our inputs, and files that the runner
# reads commands from.
KEPT_BACK = re.compile(
    r"TOKEN|PASSWORD|SECRET|CREDENTIAL|JWT|^(FAULTLINE_CI|ACTIONS|INPUT)_|^CI_REPOSITORY_URL$"
    r"|^GITHUB_(ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)$")

STATES = {"within": ("within budget", "brightgreen"), "inconclusive": ("inconclusive", "yellow"),
          "worse": ("worse", "red"), "not-measured": ("could not measure", "lightgrey")}

JOINER = "\N{WORD JOINER}"
ACTIVE = re.compile(r"[<&@#!$~](?=\S)|%(?=[\x22\w])|[\[\]]|:(?=//)|\bwww(?=\.)|^(?=[/`~>])", re.MULTILINE)


class Stop(Exception):
    """A reason why nothing can be measured: a line, with a hint."""

    def __init__(self, problem, hint):
        super().__init__(f"{problem}; hint: {hint}")


# --- Text from outside ---

def one_line(text):
    """Text without line breaks, control characters and marks that reorder it."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def harmless(text):
    """Markdown that keeps its tables and escapes, without HTML, links, mentions, references to
    issues, fences and quick actions: an invisible character follows what would begin one."""
    lines = "\n".join(one_line(line) for line in text.split("\n")).strip("\n")
    lines = ACTIVE.sub(lambda found: found.group() + JOINER, lines)
    if len(lines) > COMMENT_LETTERS:
        lines = lines[:COMMENT_LETTERS].rpartition("\n")[0] + "\n\n… (cut)"
    return lines


def for_command(text):
    """A value of a runner's command."""
    return one_line(text).replace("%", "%25")


# --- Network ---

def is_safe(url):
    """True for HTTPS and for this host."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost"))


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to plain HTTP, and all of requests with a token."""

    def redirect_request(self, request, file, code, message, headers, url):
        has_token = request.has_header("Authorization") or request.has_header("Private-token")
        if has_token or not is_safe(url):
            return None
        return super().redirect_request(request, file, code, message, headers, url)


def fetched(request, most, seconds):
    """The body of an answer. Fails beyond a size or a time."""
    deadline = time.monotonic() + seconds
    body = io.BytesIO()
    opener = urllib.request.build_opener(SafeRedirects)
    with opener.open(request, timeout=min(seconds, CALL_SECONDS)) as answer:
        while part := answer.read1(1 << 16):
            body.write(part)
            if body.tell() > most or time.monotonic() > deadline:
                raise OSError(f"more than {most >> 20} MB or {seconds:.0f} s")
    return body.getvalue()


# --- The release ---

def program_of(inputs, forge, directory):
    """The program of a release, unpacked in a directory. Fails if its checksum is wrong."""
    version = (inputs("VERSION") or VERSION).removeprefix("v")
    if not re.fullmatch(r"\d+\.\d+\.\d+[\w.-]*", version):
        raise Stop(f"'{version}' is no version", f"write it like {VERSION}")
    place = inputs("ARCHIVE")
    if not place:
        name = ARCHIVE.format(version=version, architecture=platform.machine())
        place = f"{forge.source()}/releases/download/v{version}/{name}"
    directory_of, slash, name = place.partition("?")[0].rpartition("/")
    name = urllib.parse.unquote(name)
    sums = content(directory_of + slash + SUMS).decode(errors="replace")
    wanted = [words[0] for words in map(str.split, sums.splitlines()) if words[1:] in ([name], ["*" + name])]
    archive = content(place)
    if len(wanted) != 1:
        raise Stop(f"{SUMS} lists {name} {len(wanted)} times", "an archive needs its release's checksum file beside it")
    if hashlib.sha256(archive).hexdigest() != wanted[0].lower():
        raise Stop(f"{name} does not have the SHA-256 of {SUMS}", "download it again; do not use this file")
    unpack(archive, name, directory)
    found = [path for path in directory.rglob("faultline") if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise Stop(f"{name} contains no program faultline", "`archive` names the tarball of a release")
    return min(found, key=lambda path: len(path.parts))


def content(place):
    """The content of a file or URL."""
    try:
        if "://" not in place:
            with open(place, "rb") as file:
                return file.read(MOST_DOWNLOAD)
        if not is_safe(place):
            raise Stop(f"{one_line(place)} is not HTTPS", "download it in an earlier step, and name the file")
        return fetched(urllib.request.Request(place), MOST_DOWNLOAD, DOWNLOAD_SECONDS)
    except (OSError, http.client.HTTPException) as error:
        reason = one_line(str(getattr(error, "strerror", None) or error))
        raise Stop(f"cannot read {one_line(place)}: {reason}",
                   "`version` names a release, `archive` a file or URL") from None


def unpack(archive, name, directory):
    """Unpacks a tarball whose files and links stay in the directory. Fails for any other."""
    bad = Stop(f"{name} has files that do not belong into it", "do not use this file")
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            members = tar.getmembers()
            links = [posixpath.normpath(member.name) + "/" for member in members if member.issym()]
            for member in members:
                is_link = member.issym() or member.islnk()
                path = posixpath.normpath(member.name)
                target = posixpath.join(posixpath.dirname(path) if member.issym() else "", member.linkname)
                # `..` behind the name of another link would not lead where its text says.
                is_crooked = ".." in member.name.split("/") or (
                    is_link and posixpath.normpath(member.linkname) != member.linkname)
                is_elsewhere = is_outside(path) or (is_link and is_outside(target)) or path.startswith(tuple(links))
                if is_crooked or is_elsewhere or not (is_link or member.isfile() or member.isdir()):
                    raise bad
                member.mode = member.mode & 0o755 | (0o700 if member.isdir() else 0o600)
            if sum(member.size for member in members) > MOST_UNPACKED:
                raise bad
            filtered = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(directory, members, **filtered)
    except (tarfile.TarError, EOFError, ValueError, OSError) as error:
        raise Stop(f"cannot unpack {name}: {one_line(str(error))}", "`archive` names the tarball of a release") from None


def is_outside(path):
    """True for a path that leaves its directory."""
    path = posixpath.normpath(path)
    return path.startswith(("/", "../")) or path == ".."


# --- The forges ---

class Forge:
    """A job on a forge, and the API for its comments."""

    def __init__(self, environ):
        self.environ = environ
        self.deadline = None

    def call(self, method, url, data=None):
        """The answer of the API. All calls together have a time limit."""
        self.deadline = self.deadline or time.monotonic() + API_SECONDS
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answers within {API_SECONDS} s")
        body = None if data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "faultline-gate", **self.headers()}
        request = urllib.request.Request(url, body, headers, method=method)
        return json.loads(fetched(request, MOST_ANSWER, min(left, CALL_SECONDS)) or "null")

    def create(self, body):
        self.call("POST", self.comments(), {"body": body})

    def own(self, marker):
        """Number of the comment that begins with a marker and has our author. Anybody can write the
        marker. `None` if there is none."""
        author = self.author()
        for page in range(1, PAGES + 1):
            comments = self.call("GET", f"{self.comments()}?per_page={PAGE}&page={page}{self.ORDER}")
            for comment in comments:
                if (comment.get("body") or "").lstrip().startswith(marker) and self.author_of(comment) == author:
                    return comment["id"]
            if not comments:
                break
        return None


class GitHub(Forge):
    """A job of GitHub Actions."""

    ORDER, DEPTH = "", "`fetch-depth: 0` of actions/checkout fetches all commits"
    REFUSED = "`permissions: pull-requests: write` allows it, except for the branch of a fork, whose token only reads"

    def __init__(self, environ):
        super().__init__(environ)
        self.event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        self.request = (self.event.get("pull_request") or {}).get("number")
        self.job = [environ.get(name, "") for name in ("GITHUB_WORKFLOW", "GITHUB_JOB")]
        self.top = environ["GITHUB_WORKSPACE"]
        self.url = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}".format(**environ)

    def ends(self):
        """Old and new commit, and the dots between them."""
        if self.environ.get("GITHUB_EVENT_NAME") == "pull_request_target":
            raise Stop("`pull_request_target` would run code of a branch with secrets", "use `on: pull_request`")
        if self.request:
            return self.event["pull_request"]["base"]["sha"], self.event["pull_request"]["head"]["sha"], "..."
        group = self.event.get("merge_group") or {}
        new = group.get("head_sha") or self.event.get("after") or "HEAD"
        return group.get("base_sha") or self.event.get("before"), new, ".."

    def source(self):
        """URL of this action's repository. The runner has it below `_actions/OWNER/NAME/REF`."""
        parts = Path(__file__).resolve().parts
        if "_actions" not in parts[:-4]:
            raise Stop("an action in a checkout has no release", "`archive` names a tarball")
        at = len(parts) - 1 - parts[::-1].index("_actions")
        return "/".join([self.environ["GITHUB_SERVER_URL"], *parts[at + 1:at + 3]])

    def report(self):
        return Path(tempfile.mkdtemp(prefix="faultline-report-", dir=self.environ["RUNNER_TEMP"]))

    def say(self, kind, text):
        print(f"::{kind} title=Faultline::{for_command(text)}", flush=True)

    def quietly(self):
        """Commands that begin and end a part of the log in which the runner obeys no commands."""
        token = secrets.token_hex(16)
        return f"::stop-commands::{token}", f"::{token}::"

    def write(self, name, text):
        """Appends to a file of the runner."""
        with open(self.environ[name], "a", encoding="utf-8") as file:
            file.write(text)

    def output(self, **values):
        self.write("GITHUB_OUTPUT", "".join(f"{name}={one_line(str(value))}\n" for name, value in values.items()))

    def headers(self):
        return {"Authorization": "Bearer " + self.environ.get("FAULTLINE_CI_TOKEN", ""), "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28"}

    def repository(self):
        return "{GITHUB_API_URL}/repos/{GITHUB_REPOSITORY}/issues".format(**self.environ)

    def comments(self):
        return f"{self.repository()}/{self.request}/comments"

    def author(self):
        """The token's login: of the REST API, only users learn theirs."""
        try:
            return self.call("POST", self.environ["GITHUB_GRAPHQL_URL"], {"query": "{viewer{login}}"})["data"]["viewer"]["login"]
        except (urllib.error.HTTPError, KeyError, TypeError):
            return "github-actions[bot]"

    def author_of(self, comment):
        return (comment.get("user") or {}).get("login")

    def update(self, number, body):
        self.call("PATCH", f"{self.repository()}/comments/{number}", {"body": body})


class GitLab(Forge):
    """A job of GitLab CI."""

    ORDER, DEPTH = "&sort=asc&order_by=created_at", '`GIT_DEPTH: "0"` fetches all commits'
    REFUSED = "FAULTLINE_CI_TOKEN must be a project access token with the scope `api` (pipelines of forks have none)"

    def __init__(self, environ):
        super().__init__(environ)
        self.request = environ.get("CI_MERGE_REQUEST_IID")
        self.job = [environ.get("CI_JOB_NAME", "")]
        self.top = environ["CI_PROJECT_DIR"]
        self.url = environ["CI_JOB_URL"]

    def ends(self):
        """As of GitHub. The head of a merged result is the source branch's."""
        if base := self.environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):
            return base, self.environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or self.environ["CI_COMMIT_SHA"], "..."
        return self.environ.get("CI_COMMIT_BEFORE_SHA"), self.environ["CI_COMMIT_SHA"], ".."

    def source(self):
        return self.environ["FAULTLINE_CI_SOURCE"]

    def report(self):
        """A new directory: one from the checkout could be a link to another place."""
        report = Path(self.top, "faultline-report")
        try:
            report.mkdir()
        except FileExistsError:
            raise Stop(f"{report} exists", "it is written for the job's artifacts; do not commit it") from None
        return report

    def say(self, kind, text):
        print(f"faultline: {kind}: {one_line(text)}", flush=True)

    def quietly(self):
        return "", ""

    def headers(self):
        return {"PRIVATE-TOKEN": self.environ.get("FAULTLINE_CI_TOKEN", "")}

    def comments(self):
        return "{CI_API_V4_URL}/projects/{CI_PROJECT_ID}/merge_requests/{CI_MERGE_REQUEST_IID}/notes".format(**self.environ)

    def author(self):
        return self.call("GET", self.environ["CI_API_V4_URL"] + "/user")["id"]

    def author_of(self, comment):
        return (comment.get("author") or {}).get("id")

    def update(self, number, body):
        self.call("PUT", f"{self.comments()}/{number}", {"body": body})


# --- The gate ---

class Gate:
    """One measurement of a job: its inputs, and what it writes."""

    def __init__(self, environ):
        self.environ = environ
        self.forge = (GitLab if environ.get("GITLAB_CI") else GitHub)(environ)
        # A relative path begins at the checkout.
        self.directory = Path(self.forge.top, self.inputs("DIRECTORY") or ".")
        identity = [*self.forge.job, *map(self.inputs, ("DIRECTORY", "COMMAND", "SUBJECTS"))]
        # Several gates of a pull request have a comment and a cache each.
        self.key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]
        self.marker = f"<!-- faultline-ci:{self.key} -->"
        self.remark = None
        self.may_lack = self.inputs("FAIL_ON_ERROR").lower() == "false"

    def inputs(self, name):
        return self.environ.get("FAULTLINE_CI_" + name, "").strip()

    def git(self, *words):
        """Output of git about the checkout, which may belong to another user in a container."""
        command = ["git", "-c", "safe.directory=*", "-C", str(self.directory), *words]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()

    def commit(self, name):
        is_name = re.fullmatch(r"(?:HEAD|[0-9a-f]{40,64})\^?", name or "")
        return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if is_name else ""

    def ends(self):
        """Old and new commit, and the dots between them. `None` if there is no old one."""
        old, new, dots = self.forge.ends()
        found = self.commit(old), self.commit(new)
        if not found[1] or (dots == "..." and not found[0]):
            raise Stop(f"the checkout lacks commit {one_line(str(old if found[1] else new))}", self.forge.DEPTH)
        is_back = dots == ".." and found[0] and self.git("merge-base", *found) == found[1]
        if found[0] and not is_back:
            return (*found, dots)
        if is_back:
            self.remark = "the push goes back to an older commit; compares with its parent instead"
        elif old and set(old) != {"0"}:
            self.remark = "the checkout lacks the commit before this push; compares with the parent instead"
        parent = self.commit(found[1] + "^")
        if not parent and self.git("rev-parse", "--is-shallow-repository") == "true":
            raise Stop("the checkout has one commit only", self.forge.DEPTH)
        return (parent, found[1], dots) if parent else None

    def plan(self):
        """Names the cache after the commit whose builds later jobs use: a request's old one. It is
        restored for this commit only, because a cache that is handed on grows without limit."""
        cache = Path(self.environ.get("XDG_CACHE_HOME") or self.environ["HOME"] + "/.cache", "faultline")
        release = f"{self.inputs('VERSION') or VERSION}-{platform.machine()}"
        try:
            if ends := self.ends():
                commit = ends[0] if ends[2] == "..." else ends[1]
                self.forge.output(cache=cache, key=f"faultline-{release}-{self.key}-{commit}")
        except Stop:
            pass  # `run` reports it.
        return 0

    def run(self):
        """Measures and reports. Returns the exit status, and the comment with its importance."""
        report = self.forge.report()
        status, problem, ends = 2, None, ()
        try:
            ends = self.ends()
            if ends is None:
                self.remark = "the first commit has nothing to be compared with; nothing was measured"
            if self.remark:
                self.forge.say("notice", self.remark)
            if ends is None:
                self.outputs(status=0, state="skipped", report=report)
                return 0, None
            with tempfile.TemporaryDirectory(dir=self.environ.get("RUNNER_TEMP")) as unpacked:
                status, problem = self.measure(program_of(self.inputs, self.forge, Path(unpacked)), ends, report)
        except Stop as stop:
            problem = str(stop)
        result = read(report / "ci.json")
        state = str(result.get("state"))
        if status in (0, 1) and state not in STATES:
            status, problem = 2, "`faultline ci` wrote no ci.json that can be read"
        if status not in (0, 1) and state != "not-measured":
            state, result = "not-measured", {}
        answer = str(result.get("answer") or f"Could not measure: {problem or 'the log says why'}.")
        self.tell(state, answer)
        (report / "badge.json").write_text(json.dumps(badge(result, state)) + "\n", encoding="utf-8")
        comment = self.comment_text(state, ends, report, answer)
        (report / "comment.md").write_text(comment, encoding="utf-8")
        is_changed = state == "not-measured" or any(row.get("verdict") in ("worse", "better") for row in deciding(result))
        self.outputs(status=status, state=state, report=report, badge=report / "badge.json",
                     changed=str(is_changed).lower(), measured=str(status in (0, 1)).lower())
        return 0 if status == 2 and self.may_lack else status, (comment, is_changed)

    def measure(self, program, ends, report):
        """Exit status of `faultline ci`, and its last complaint."""
        old, new, dots = ends
        words = [str(program), "ci", f"{old}{dots}{new}", *self.inputs("SUBJECTS").split(), "--report", str(report)]
        words += [f"--{name}={value}" for name in ("budget", "by", "build") if (value := self.inputs(name.upper()))]
        try:
            words += shlex.split(self.inputs("OPTIONS"))
            command = shlex.split(self.inputs("COMMAND"))
        except ValueError as error:
            raise Stop(f"`command` and `options` are split like words of a shell: {error}", "close the quotes") from None
        words += ["--", *command] if command else ["--trust"]
        environment = {name: value for name, value in self.environ.items() if not KEPT_BACK.search(name)}
        begin, end = self.forge.quietly()
        complaint = []
        print(begin, " ".join(["faultline", *map(shlex.quote, map(one_line, words[1:]))]), sep="\n", flush=True)
        try:
            # One stream, so that all lines come before the end of the quiet part.
            with subprocess.Popen(words, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, encoding="utf-8", errors="replace") as process:
                for line in process.stdout:
                    print(line, end="", flush=True)
                    if line.startswith("faultline: "):
                        complaint = [line.removeprefix("faultline: ").strip()]
                    elif line.startswith("hint: ") and complaint:
                        complaint[1:] = [line.strip()]
        except OSError as error:
            raise Stop(f"cannot start Faultline in {self.directory}: {error.strerror}",
                       "`directory` names a part of the checkout") from None
        finally:
            print("", end, sep="\n", flush=True)
        if process.returncode in (0, 1, 2, 130):
            return process.returncode, "; ".join(complaint)
        return 2, f"`faultline ci` ended with status {process.returncode}"

    def tell(self, state, answer):
        """One line about an answer that needs attention."""
        kind = {"worse": "error", "not-measured": "warning" if self.may_lack else "error", "inconclusive": "notice"}.get(state)
        if kind:
            self.forge.say(kind, answer)

    def comment_text(self, state, ends, report, answer):
        """The comment: marker, state, report and its origin. The summary is the same."""
        try:
            text = (report / "ci.md").read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = answer
        of = f" of `{ends[0][:12]}{ends[2]}{ends[1][:12]}`" if ends else ""
        body = f"### Faultline: {STATES[state][0]}\n\n{harmless(text)}\n\n[Log]({self.forge.url}){of}\n"
        if isinstance(self.forge, GitHub):
            self.forge.write("GITHUB_STEP_SUMMARY", body)
        return f"{self.marker}\n{body}"

    def outputs(self, **values):
        if isinstance(self.forge, GitHub):
            self.forge.output(**values)

    def comment(self, body, is_changed):
        """Posts or updates the comment. A failure is a notice: the gate's status stands."""
        when = self.inputs("COMMENT") or "changes"
        if not self.forge.request or when == "never":
            return
        if not self.inputs("TOKEN"):
            self.forge.say("notice", f"no comment, because there is no token; hint: {self.forge.REFUSED}")
            return
        try:
            number = self.forge.own(body.partition("\n")[0])
            if number is not None:
                try:
                    return self.forge.update(number, body)
                except urllib.error.HTTPError as error:
                    if error.code not in (404, 410):
                        raise
                # Deleted meanwhile: the comment is made again, if there were reason to make it.
            if is_changed or when == "always":
                self.forge.create(body)
        except urllib.error.HTTPError as error:
            self.forge.say("notice", f"no comment: the API answers {error.code}; hint: {self.forge.REFUSED}")
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
            self.forge.say("notice", f"no comment: the API does not answer as expected ({error})")


def read(path):
    """The JSON object in a file; empty if there is none."""
    try:
        value = json.loads(path.read_bytes()[:MOST_ANSWER])
        return value if isinstance(value, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def parts(value, name):
    """The objects in a list of an object."""
    found = value.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def deciding(result):
    """The rows that decide."""
    return [row for program in parts(result, "programs") for row in parts(program, "rows") if row.get("decides")]


def badge(result, state):
    """The badge, in the format of shields' endpoint."""
    message, color = STATES[state]
    worse = [row for row in deciding(result) if row.get("verdict") == "worse" and isinstance(row.get("change"), (int, float))]
    if worse:
        most = max(worse, key=lambda row: row["change"])
        message = f"{one_line(str(most.get('quantity')))} {100 * most['change']:+.2f} %"
    return {"schemaVersion": 1, "label": "faultline", "message": message, "color": color}


def main(words, environ):
    try:
        gate = Gate(environ)
        if words == ["plan"]:
            return gate.plan()
        if words == ["comment"]:
            report = Path(environ["FAULTLINE_CI_REPORT"], "comment.md")
            gate.comment(report.read_text(encoding="utf-8"), environ.get("FAULTLINE_CI_CHANGED") == "true")
            return 0
        if words in (["run"], ["gitlab"]):
            status, comment = gate.run()
            if words == ["gitlab"] and comment:
                gate.comment(*comment)
            return status
        raise Stop("unknown operation", "plan, run, comment or gitlab")
    except Stop as stop:
        problem = str(stop)
    except KeyError as error:
        problem = f"the variable {error} is missing; hint: this program runs in jobs of GitHub and GitLab"
    except OSError as error:
        problem = f"{one_line(str(error))}; hint: the job needs a checkout, and space for temporary files"
    print(f"faultline: could not measure: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
