#!/usr/bin/env python3
"""Makes a repository of a small C program with planted changes, and a faultline.toml beside it.

Usage: make.py DIRECTORY [--commits N] [--seed N]

The program sleeps, so its time depends on its commits and hardly on the machine; it adds noise.
Planted are three steps of the code, two of the layout (the distance of two variables), commits that
do not build and commits that hang. `tools/cc` is a compiler whose second version makes slower
programs; `tools/version` selects it. DIRECTORY/planted.json lists the changes by commit.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

MICROSECONDS = 20_000
# Places of steps as shares of the history, with their sizes.
CODE = ((0.18, 0.10), (0.47, 0.04), (0.85, 0.30))
# Both variables become neighbours, and separate again.
NEAR, FAR = 0.33, 0.66
LAYOUT = 0.08
TOOLCHAIN = 0.06
# The first run ends here, with the old compiler.
OLD_COMPILER = 0.57
# Shares of the other commits.
BROKEN, HANGING = 0.06, 0.02

MAKEFILE = """\
CFLAGS = -O1

prog: main.o first.o between.o second.o
\t$(CC) -o $@ $^ -lm
"""

MAIN = """\
/* Sleeps for as long as work.h says, with noise of as many per cent as the first argument says. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "work.h"

extern char first[8], second[8];

/* Normally distributed (Box and Muller). */
static double normal(void)
{
    uint32_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        exit(1);
    double one = (random[0] + 1.0) / 4294967297.0, other = random[1] / 4294967296.0;
    return sqrt(-2 * log(one)) * cos(2 * M_PI * other);
}

int main(int argc, char **argv)
{
    double microseconds = WORK_US * exp(normal() * (argc > 1 ? atof(argv[1]) : 0) / 100);
    intptr_t distance = (intptr_t)second - (intptr_t)first;
    if (-64 < distance && distance < 64)
        microseconds *= 1 + @LAYOUT@;
#if TOOLCHAIN == 2
    microseconds *= 1 + @TOOLCHAIN@;
#endif
#ifdef HANGS
    pause();
#endif
    return usleep(microseconds);
}
"""

COMPILER = """\
#!/bin/sh
# The compiler of this machine, as one of two versions.
version=$(cat "$(dirname "$0")/version")
[ "$1" != --version ] || { echo "test bed cc $version.0"; exit; }
exec cc -DTOOLCHAIN="$version" "$@"
"""

DECLARED = """\
[subject.app]
repository = "repository"
work = "work"
branch = {branch}
build = "make"
environment = {{ CC = {compiler} }}
clean = true    # objects of the other compiler would be used again
keep = ["prog", "main.o", "first.o", "between.o", "second.o"]
command = "./prog {noise}"
# The bridge of the compiler is as precise as its executions are many.
repeats = 30
commit_layouts = 12
limit = "3s"
seed = {seed}
"""


def git(repository, *arguments):
    """Returns git's output. The user's settings have no effect."""
    environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    person = ("-c", "user.name=Test Bed", "-c", "user.email=test-bed@localhost")
    command = ("git", "-C", repository, *person, *arguments)
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def positions(commits, chance):
    """Planted changes by position: code and layout steps, commits that do not build or that
    hang."""
    code = {round(share * commits): part for share, part in CODE}
    layout = {round(NEAR * commits): "near", round(FAR * commits): "far"}
    ends = {0, round(OLD_COMPILER * commits), commits - 1}
    # Not beside a step, or it could not be named exactly.
    kept = {near for at in (*code, *layout, *ends) for near in range(at - 2, at + 3)}
    free = [at for at in range(commits) if at not in kept]
    chance.shuffle(free)
    broken = sorted(free[: round(BROKEN * commits)])
    hanging = sorted(free[len(broken) :][: round(HANGING * commits)])
    return code, layout, broken, hanging


def write(repository, files):
    for name, text in files.items():
        (repository / name).write_text(text)


def make(directory, commits, seed):
    repository, tools = directory / "repository", directory / "tools"
    repository.mkdir(parents=True)
    tools.mkdir()
    write(tools, {"cc": COMPILER, "version": "1\n"})
    (tools / "cc").chmod(0o755)
    git(repository, "init", "--quiet", "--initial-branch=main")
    main = MAIN.replace("@LAYOUT@", str(LAYOUT)).replace("@TOOLCHAIN@", str(TOOLCHAIN))
    write(repository, {"Makefile": MAKEFILE, "main.c": main, "first.c": "char first[8];\n", "second.c": "char second[8];\n"})
    code, layout, broken, hanging = positions(commits, random.Random(seed))
    microseconds, between, names = MICROSECONDS, 512, []
    for at in range(commits):
        microseconds *= 1 + code.get(at, 0)
        between = {"near": 8, "far": 512}.get(layout.get(at), between)
        work = f"#define WORK_US {microseconds:.0f}\n"
        if at in broken:
            work = "#error this commit can't be built\n"
        elif at in hanging:
            work += "#define HANGS\n"
        write(repository, {"work.h": work, "between.c": f"char between[{between}];\n", "NEWS": f"change {at}\n"})
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", f"change {at}")
        names.append(git(repository, "rev-parse", "HEAD"))
    git(repository, "tag", "old-compiler", names[round(OLD_COMPILER * commits)])
    planted = {
        "commits": names,
        "code": {names[at]: part for at, part in code.items()},
        "layout": {names[at]: LAYOUT if what == "near" else 1 / (1 + LAYOUT) - 1 for at, what in layout.items()},
        # This commit is measured with both compilers; the later measurement counts.
        "toolchain": {names[round(OLD_COMPILER * commits)]: TOOLCHAIN},
        "broken": [names[at] for at in broken],
        "hanging": [names[at] for at in hanging],
    }
    (directory / "planted.json").write_text(json.dumps(planted, indent=1))


def declare(directory, branch, noise, seed):
    """Writes faultline.toml."""
    compiler = json.dumps(str((directory / "tools" / "cc").resolve()))
    text = DECLARED.format(branch=json.dumps(branch), compiler=compiler, noise=noise, seed=seed)
    (directory / "faultline.toml").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIRECTORY")
    parser.add_argument("--commits", type=int, default=200, metavar="N", help="default: 200; at least 60")
    parser.add_argument("--noise", type=float, default=2, metavar="PERCENT", help="of each execution; default: 2")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="chooses the commits that can't be measured")
    asked = parser.parse_args()
    if asked.commits < 60:
        parser.error(f"{asked.commits} commits are too few for steps that are apart; hint: --commits 60")
    if asked.directory.exists():
        parser.error(f"{asked.directory} exists already; hint: remove it, or name another directory")
    make(asked.directory, asked.commits, asked.seed)
    declare(asked.directory, "old-compiler", asked.noise, asked.seed)


if __name__ == "__main__":
    sys.exit(main())
