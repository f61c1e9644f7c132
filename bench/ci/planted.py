"""`faultline ci` on planted and empty changes of programs in C, Rust, Go and Python.

Usage: planted.py FAULTLINE [--changes N] [--load N] [--languages c,rust,go,python]

For each language, CHANGES (5) commits add 2 to 6 % of the program's work, and as many change only a
comment, in mixed order, beside LOAD (8) busy processes. Prints each answer with its seconds. Exits
with 1 if a planted change is missed, or if an empty one does not pass. A language without its
compiler is left out.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "commands"))
import conditions

BUDGET = 0.01
STEPS = 2_000_000

C = """\
#include <stdio.h>
/* %(note)s */
int main(void) {
    unsigned long sum = 1;
    for (volatile long i = 0; i < %(steps)d; i++) sum = sum * 31 + i;
    printf("%%lu\\n", sum);
    return 0;
}
"""
RUST = """\
// %(note)s
fn main() {
    let mut sum: u64 = 1;
    for i in 0..std::hint::black_box(%(steps)du64) {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
    }
    println!("{sum}");
}
"""
GO = """\
package main

import "fmt"

// %(note)s
func main() {
	sum := uint64(1)
	words := map[uint64]int{}
	for i := uint64(0); i < %(steps)d; i++ {
		sum = sum*31 + i
		if i%%1000 == 0 {
			words[sum%%64]++
		}
	}
	fmt.Println(sum, len(words))
}
"""
PYTHON = """\
# %(note)s
total = 1
for i in range(%(steps)d):
    total = (total * 31 + i) %% 1000003
print(total)
"""
# Name: compiler, file, text, steps, build, command.
LANGUAGES = {
    "c": ("cc", "prog.c", C, STEPS, "cc -O1 -o prog prog.c", ["./prog"]),
    "rust": ("rustc", "prog.rs", RUST, STEPS, "rustc -O -o prog prog.rs", ["./prog"]),
    "go": ("go", "prog.go", GO, STEPS, "go build -buildvcs=false -o prog prog.go", ["./prog"]),
    "python": ("/usr/bin/python3", "prog.py", PYTHON, STEPS // 20, "true", ["/usr/bin/python3", "prog.py"]),
}


def git(repository, *arguments):
    environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    person = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
    subprocess.run(("git", "-C", repository, *person, *arguments), env=environment, check=True, stdout=subprocess.DEVNULL)


def written(repository, language, steps, note):
    _, file, text, *_ = LANGUAGES[language]
    (repository / file).write_text(text % {"steps": steps, "note": note})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", note)


def answer(faultline, directory, language):
    """The state that `ci` reports for the newest commit, and its seconds."""
    *_, build, command = LANGUAGES[language]
    environment = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"))
    words = [faultline, "--db", str(directory / "ci.sqlite"), "ci", "HEAD~1..HEAD", "--quiet", "--format", "json"]
    words += ["--build", build, "--build-network", "--budget", f"{BUDGET:.0%}", "--time", "5s", "--", *command]
    began_s = time.monotonic()
    done = subprocess.run(words, cwd=directory / "repository", env=environment, capture_output=True, text=True, timeout=1800)
    took_s = time.monotonic() - began_s
    if done.returncode not in (0, 1):
        return f"not measured: {done.stdout}{done.stderr}", None, took_s
    result = json.loads(done.stdout)
    [row] = [row for row in result["programs"][0]["rows"] if row["quantity"] == "instructions"]
    return result["state"], row["change"], took_s


def measured(faultline, language, changes, directory):
    """[(planted share, state, seconds)]"""
    steps = LANGUAGES[language][3]
    repository = directory / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    draw = random.Random(language)
    planted = [draw.uniform(0.02, 0.06) for _ in range(changes)] + [0.0] * changes
    draw.shuffle(planted)
    written(repository, language, steps, "first")
    found = []
    for number, share in enumerate(planted):
        steps = round(steps * (1 + share))
        written(repository, language, steps, f"change {number}")
        state, change, took_s = answer(faultline, directory, language)
        shown = "" if change is None else f" {change:+.2%}"
        print(f"{language} {number}: planted {share:+.1%} of the loop: {state}{shown} in {took_s:.0f} s", flush=True)
        found.append((share, state, took_s))
    return found


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("faultline", type=Path)
    arguments.add_argument("--changes", type=int, default=5)
    arguments.add_argument("--load", type=int, default=8)
    arguments.add_argument("--languages", default=",".join(LANGUAGES))
    asked = arguments.parse_args()
    faultline, rows, is_wrong = str(asked.faultline.resolve()), [], False
    for language in asked.languages.split(","):
        if not shutil.which(LANGUAGES[language][0]):
            rows.append(f"{language}: left out, there is no {LANGUAGES[language][0]}")
            continue
        with tempfile.TemporaryDirectory() as directory, conditions.load(asked.load, 1, "always", is_elsewhere=True):
            found = measured(faultline, language, asked.changes, Path(directory))
        caught = sum(state == "worse" for share, state, _ in found if share)
        blamed = sum(state not in ("within", "inconclusive") for share, state, _ in found if not share)
        is_wrong |= caught < asked.changes or blamed > 0
        took_s = statistics.median(took_s for *_, took_s in found)
        rows.append(f"{language}: {caught} of {asked.changes} found, {blamed} of {asked.changes} empty ones not passed; {took_s:.0f} s (median)")
    print("\n".join(rows))
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
