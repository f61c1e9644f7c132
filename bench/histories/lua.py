"""Histories and searches of 58 commits of the Lua interpreter with planted slow-downs, by CPU time
beside busy processes; and histories without a change.

Usage: lua.py FAULTLINE LUA [--repeats N] [--null N] [--load N] [--directory DIR]

LUA is a clone of Lua's repository. Its commits up to v5.4.6 get planted changes of +15, −9 and +8 %
of the program's CPU time, and two of them do not build. Beside LOAD (8) busy processes, which run
in a session of their own like those of another terminal, each of REPEATS (3) measures a history in
a new database, lists its changes and searches its commits. All three changes must be found at
their commits, by CPU time, which Faultline chooses itself. In NULL (20) histories of 20 commits,
each with other bytes and the same work, no step may be found. Exits with 1 otherwise. Without
--directory everything is removed at the end.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "commands"))
import conditions

NEWEST, COMMITS, NULL_COMMITS = "v5.4.6", 58, 20
# Changes of the whole CPU time, by position.
PLANTED = {14: 0.15, 30: -0.09, 45: 0.08}
BROKEN = (8, 37)
# Share of the CPU time that the planted loop takes at the first commit.
SHARE = 0.4
BUILD = "make -s lua MYCFLAGS=-std=c99 MYLIBS="
# Of histories without a change: the interpreter's library is part of each commit.
LINK = "cc -std=c99 -O2 -o lua lua.c liblua.a -lm"
SCRIPT = """\
local words, sum = {}, 0
for i = 1, 60000 do words[i] = tostring(i) .. "x" end
for i = 1, #words do sum = sum + #words[i] + (i % 7) * 3 end
for i = 1, 1200000 do sum = sum + i // 3 end
"""
LOOP = """
static unsigned long planted_work (long steps) {
  unsigned long sum = 1;
  while (steps-- > 0) {
    sum = sum * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile ("" : "+r" (sum));  /* keeps the loop */
  }
  return sum;
}
const char *const planted_name = "commit %(name)s";
"""
DECLARED = """\
[subject.lua]
repository = "repository"
work = "work"
branch = "main"
build = "%(build)s"
keep = ["lua", "bench.lua"]
command = "./lua bench.lua"
repeats = 5
"""


def git(repository, *arguments, **options):
    environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    person = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
    done = subprocess.run(("git", "-C", repository, *person, *arguments), env=environment, check=True, stdout=subprocess.PIPE, **options)
    return done.stdout


def steps_of(level, loop_steps):
    """Steps of the loop at a level of CPU time, where 1 is that of the first commit."""
    return round(loop_steps * (level - (1 - SHARE)) / SHARE)


def write_commit(repository, lua, source, name, steps, is_broken=False, library=None):
    """Commits Lua's files at `source` with the loop, and a library."""
    for file in repository.iterdir():
        if file.is_file():
            file.unlink()
    archive = git(lua, "archive", source)
    subprocess.run(["tar", "-x", "-C", repository], input=archive, check=True)
    text = (repository / "lua.c").read_text(encoding="latin-1")
    main = "int main (int argc, char **argv) {"
    assert text.count(main) == 1, f"{source} has another main"
    loop = LOOP % {"name": f"{name:>8}"} + ("#error planted\n" if is_broken else "")
    text = text.replace(main, f"{loop}\n{main}\n  volatile unsigned long work = planted_work ({steps}L);\n  (void)work;")
    (repository / "lua.c").write_text(text, encoding="latin-1")
    (repository / "bench.lua").write_text(SCRIPT)
    if library:
        shutil.copy(library, repository)
    git(repository, "add", "-A", "--force")
    git(repository, "commit", "-q", "--allow-empty", "-m", f"{name}: Lua at {source[:12]}")
    return git(repository, "rev-parse", "HEAD", text=True).strip()


def cpu_s(command, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calibrated(directory, lua):
    """Number of steps of the loop that takes `SHARE` of the whole CPU time."""
    tried = 20_000_000
    repositories = [directory / f"calibration-{steps}" for steps in (0, tried)]
    for repository, steps in zip(repositories, (0, tried), strict=True):
        repository.mkdir(parents=True)
        git(repository, "init", "-q", "-b", "main")
        write_commit(repository, lua, NEWEST, "none", steps)
        subprocess.run(BUILD.split(), cwd=repository, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Alternately, because the speed of a shared host changes.
    rounds = [[cpu_s(["./lua", "bench.lua"], repository) for repository in repositories] for _ in range(25)]
    script_s, with_loop_s = map(min, zip(*rounds, strict=True))
    return round(script_s * SHARE / (1 - SHARE) / (with_loop_s - script_s) * tried)


class Bed:
    """A repository with its declaration, and the commands about it."""

    def __init__(self, faultline, directory, build=BUILD):
        self.faultline, self.directory, self.commits = faultline, directory, []
        self.repository = directory / "repository"
        self.repository.mkdir(parents=True)
        git(self.repository, "init", "-q", "-b", "main")
        (directory / "faultline.toml").write_text(DECLARED % {"build": build})

    def call(self, database, *arguments):
        """The JSON that a command prints."""
        # The file is our own.
        environment = dict(os.environ, FAULTLINE_TRUST="1", XDG_CACHE_HOME=str(self.directory / "cache"))
        command = [self.faultline, *arguments]
        at = command.index("--") if "--" in command else len(command)
        command[at:at] = ["--db", str(self.directory / database), "--format", "json"]
        done = subprocess.run(command, cwd=self.directory, env=environment, capture_output=True, text=True, timeout=7200)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def history(self, database):
        """Steps as (first position, last position, change), and the series, after measuring."""
        self.call(database, "history", "run", "--quiet")
        [series] = self.call(database, "history", "show")
        found = [(step["earliest"], step["latest"], step["to"] / step["from"] - 1) for step in series["steps"]["steps"]]
        return found, series

    def search(self, database):
        """Found steps as (candidate positions, change), and the whole answer."""
        number = {name: at for at, name in enumerate(self.commits)}
        found = self.call(
            database, "bisect", self.commits[0], self.commits[-1], "--repository", "repository", "--work", "work",
            "--build", BUILD, "--keep", "lua", "--keep", "bench.lua", "--thorough", "--quiet", "--", "./lua", "bench.lua",
        )
        steps = zip(found["steps"], found["commits"], strict=True)
        return [([number[commit["id"]] for commit in commits["candidates"]], step["change"]["ratio"] - 1) for step, commits in steps if step["found"]], found


def planted_bed(faultline, directory, lua, loop_steps):
    bed, level = Bed(faultline, directory), 1.0
    sources = git(lua, "rev-list", "--first-parent", f"--max-count={COMMITS}", NEWEST, text=True).split()[::-1]
    for at, source in enumerate(sources):
        level *= 1 + PLANTED.get(at, 0)
        bed.commits.append(write_commit(bed.repository, lua, source, str(at), steps_of(level, loop_steps), at in BROKEN))
    return bed


def null_bed(faultline, directory, lua, loop_steps, number):
    bed, library = Bed(faultline, directory, LINK), directory.parent / "calibration-0" / "liblua.a"
    for at in range(NULL_COMMITS):
        bed.commits.append(write_commit(bed.repository, lua, NEWEST, f"{number}.{at}", loop_steps, library=library))
    return bed


def percents(steps):
    return ", ".join(f"{places}: {change:+.1%}" for *places, change in steps) or "none"


def is_right(named):
    """True if the commits named, as (positions, change), are the planted ones."""
    places = [at for at, _ in named]
    return places == sorted(PLANTED) and all((change > 0) == (PLANTED[at] > 0) for at, change in named)


def repeat(bed, number):
    """Measures and searches once. Returns whether all three commands were right."""
    began_s = time.monotonic()
    steps, series = bed.history(f"history-{number}.sqlite")
    took_s = time.monotonic() - began_s
    named = [(latest, change) for earliest, latest, change in steps if latest - earliest == 1]
    history = len(named) == len(steps) and is_right(named)
    print(f"history {number}: {'right' if history else 'WRONG'}, by {series['quantity']}; {percents(steps)}; {took_s:.0f} s", flush=True)
    [changed] = bed.call(f"history-{number}.sqlite", "history", "changes")
    listed = changed["steps"]
    changes = len(listed) == len(PLANTED)
    print(f"changes {number}: {'right' if changes else 'WRONG'}; {len(listed)} listed", flush=True)
    began_s = time.monotonic()
    found, answer = bed.search(f"search-{number}.sqlite")
    took_s = time.monotonic() - began_s
    named = [(places[0], change) for places, change in found if len(places) == 1]
    search = len(named) == len(found) and is_right(named)
    print(
        f"bisect {number}: {'right' if search else 'WRONG'}; {percents(found)}; "
        f"{answer['trials']} builds, {answer['executions']} executions, {took_s:.0f} s",
        flush=True,
    )
    return history and changes and search


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("faultline", type=Path)
    arguments.add_argument("lua", type=Path)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--null", type=int, default=20)
    arguments.add_argument("--load", type=int, default=8)
    arguments.add_argument("--directory", type=Path)
    asked = arguments.parse_args()
    faultline, wrong = str(asked.faultline.resolve()), 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = (asked.directory or Path(temporary)).resolve()
        with conditions.load(asked.load, 1, "always", is_elsewhere=True):
            # Busy neighbours slow the loop and the script down by different shares.
            loop_steps = calibrated(directory, asked.lua)
            bed = planted_bed(faultline, directory / "planted", asked.lua, loop_steps)
            for number in range(1, asked.repeats + 1):
                wrong += not repeat(bed, number)
            blamed = 0
            for number in range(1, asked.null + 1):
                null = null_bed(faultline, directory / f"null-{number}", asked.lua, loop_steps, number)
                steps, _ = null.history("null.sqlite")
                blamed += bool(steps)
                print(f"null {number}: {percents(steps)}", flush=True)
    print(f"{asked.repeats - wrong} of {asked.repeats} repeats right; a step in {blamed} of {asked.null} histories without a change")
    sys.exit(1 if wrong or blamed else 0)


if __name__ == "__main__":
    main()
