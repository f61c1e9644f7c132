#!/usr/bin/env python3
"""Keeps a history of the default branch in a branch of its own, in a job of GitHub.

    history.py fetch    takes the database from the branch FAULTLINE_CI_HISTORY. Needs the token
    history.py measure  measures new commits of the subjects of faultline.toml; writes the pages
    history.py publish  replaces the branch by pages, database and badge. Needs the token

The branch has one commit without parents, so it does not grow with each push. A failure is a
warning: the gate's status stands. `measure` runs code of the commits, which may leave anything in
its directory, so `publish` trusts no configuration of git there.
"""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # `python3 -I` leaves it out.

from gate import KEPT_BACK, Gate, Stop, one_line, program_of

DATABASE = "history.sqlite"
# GitHub refuses larger files.
MOST_BYTES = 95 << 20
GIT_SECONDS, PAGES_SECONDS = 300, 600
AUTHOR = "github-actions[bot]"


class Branch:
    """The branch that keeps the history."""

    def __init__(self, gate):
        environ = gate.environ
        self.name = gate.inputs("HISTORY")
        self.reference = f"refs/heads/{self.name}"
        self.url = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format(**environ)
        main = (gate.forge.event.get("repository") or {}).get("default_branch")
        self.is_wanted = environ.get("GITHUB_EVENT_NAME") == "push" and environ.get("GITHUB_REF") == f"refs/heads/{main}"
        if not re.fullmatch(r"\w[\w-]*([./][\w-]+)*", self.name):
            raise Stop(f"'{one_line(self.name)}' is no name for the branch of the history", "`history: faultline` is one")
        if self.name == main:
            raise Stop(f"the history would replace the branch {main}", "`history` names a branch of its own")
        secret = base64.b64encode(f"x-access-token:{gate.inputs('TOKEN')}".encode()).decode()
        settings = {f"http.{environ['GITHUB_SERVER_URL']}/.extraHeader": f"Authorization: Basic {secret}", "core.hooksPath": os.devnull}
        self.environ = {"PATH": environ.get("PATH", os.defpath), "HOME": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
                        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings.items()):
            self.environ.update({f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value})
        for role in ("AUTHOR", "COMMITTER"):
            self.environ.update({f"GIT_{role}_NAME": AUTHOR, f"GIT_{role}_EMAIL": f"{AUTHOR}@users.noreply.github.com"})

    def git(self, directory, *words, into=subprocess.PIPE):
        """Output of git in a directory. Fails if git does."""
        try:
            done = subprocess.run(["git", "-C", str(directory), *words], env=self.environ, stdin=subprocess.DEVNULL, stdout=into,
                                  stderr=subprocess.PIPE, timeout=GIT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Stop(f"`git {words[0]}` did not end within {GIT_SECONDS} s", "run the job again") from None
        if done.returncode != 0:
            said = one_line(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
            raise Stop(f"`git {words[0]}` failed: {said}", "`permissions: contents: write` lets the job keep a history")
        return (done.stdout or b"").decode(errors="replace").strip()

    def fetched(self, room):
        """The commit of the branch, whose database is put into a directory; empty if there is no
        branch. Fails for a branch with anything else."""
        old = self.git(room, "ls-remote", self.url, self.reference).partition("\t")[0]
        if not old:
            return ""
        with tempfile.TemporaryDirectory(dir=room) as repository:
            self.git(repository, "init", "-q", "--bare")
            self.git(repository, "fetch", "-q", "--depth=1", self.url, old)
            if DATABASE not in self.git(repository, "ls-tree", "--name-only", old).split("\n"):
                raise Stop(f"the branch {self.name} has other files, and would be replaced", "`history` names a branch of its own")
            with open(room / DATABASE, "wb") as file:
                self.git(repository, "cat-file", "blob", f"{old}:{DATABASE}", into=file)
        return old

    def publish(self, files, old):
        """Replaces the branch by these files. Fails if it changed since `old` was fetched."""
        with tempfile.TemporaryDirectory() as repository:
            self.git(repository, "init", "-q", "--bare")
            self.git(repository, f"--work-tree={files}", "-c", "core.bare=false", "-c", "core.autocrlf=false", "add", "--all", "--force")
            tree = self.git(repository, "write-tree")
            commit = self.git(repository, "commit-tree", "-m", "faultline: history", tree)
            self.git(repository, "push", "-q", f"--force-with-lease={self.reference}:{old}", self.url, f"{commit}:{self.reference}")


def fetch(gate):
    branch = Branch(gate)
    if not branch.is_wanted:
        return
    if gate.inputs("COMMAND"):
        raise Stop("a history needs a subject, and this gate has a command", "declare it in faultline.toml (`faultline history init`)")
    room = Path(tempfile.mkdtemp(prefix="faultline-history-", dir=gate.environ["RUNNER_TEMP"]))
    old = branch.fetched(room)
    gate.forge.output(room=room, old=old)


def measure(gate):
    room = Path(gate.environ["FAULTLINE_CI_ROOM"])
    pages = room / "pages"
    environ = {name: value for name, value in gate.environ.items() if not KEPT_BACK.search(name)}
    begin, end = gate.forge.quietly()
    with tempfile.TemporaryDirectory(dir=room) as unpacked:
        program = [str(program_of(gate.inputs, gate.forge, Path(unpacked))), "--db", str(room / DATABASE)]
        print(begin, flush=True)
        try:
            run = subprocess.run([*program, "history", "run", "--trust", *gate.inputs("SUBJECTS").split()], cwd=gate.directory, env=environ,
                                 stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
            shown = subprocess.run([*program, "serve", "--export", str(pages)], cwd=gate.directory, env=environ, timeout=PAGES_SECONDS,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Stop(f"the pages were not written: {one_line(str(error))}", "the log says more") from None
        finally:
            print("", end, sep="\n", flush=True)
    if run.returncode != 0:
        gate.forge.say("warning", f"`faultline history run` ended with status {run.returncode}; what it measured is kept")
    if shown.returncode != 0 or not pages.is_dir():
        raise Stop(f"`faultline serve --export` ended with status {shown.returncode}", "the log says why")
    gate.forge.output(pages=pages)


def publish(gate):
    branch, pages = Branch(gate), Path(gate.environ["FAULTLINE_CI_PAGES"])
    database = Path(gate.environ["FAULTLINE_CI_ROOM"], DATABASE)
    names = {DATABASE, "badge.json", ".nojekyll"}
    if pages.is_symlink() or database.is_symlink() or names & set(os.listdir(pages)):
        raise Stop("a program of the measured commits changed the pages", "`faultline history run` says which commits it ran")
    shutil.copyfile(database, pages / DATABASE)
    badge = Path(gate.environ.get("FAULTLINE_CI_BADGE") or os.devnull)
    if badge.is_file():
        shutil.copyfile(badge, pages / "badge.json")
    (pages / ".nojekyll").touch()
    size = (pages / DATABASE).stat().st_size
    if size > MOST_BYTES:
        raise Stop(f"the history's database has {size >> 20} MB, more than a branch can keep",
                   f"delete the branch {branch.name}; a later `since` in faultline.toml begins a shorter one")
    branch.publish(pages, gate.inputs("OLD"))


def main(words, environ):
    gate = Gate(environ)
    try:
        {"fetch": fetch, "measure": measure, "publish": publish}[words[0]](gate)
    except (Stop, OSError) as error:
        gate.forge.say("warning", f"no history: {one_line(str(error))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
