"""`faultline ci` on planted and empty changes of programs in C, Rust, Go and Python.

Usage: planted.py FAULTLINE [--pairs N] [--results FILE] [--load N] [--languages c,rust,go,python]

Each language has five pairs: a commit that adds 2 to 6 % of the program's work, and one that
changes only a comment, in mixed order, beside LOAD (8) busy processes. Prints each answer with its
seconds, then totals. Exits with 1 if a planted change is missed, or if an empty one does not pass.
A language without its compiler is left out.

Each answer is saved in FILE at once, and another call continues after it: `--pairs 4` measures the
next four pairs, one of each language. Delete FILE after a change of the program.
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
PAIRS = 5
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
    "python": ("/usr/bin/python3", "prog.py", PYTHON, STEPS // 8, "true", ["/usr/bin/python3", "prog.py"]),
}


def git(repository, *arguments):
    """Output of git, without the user's configuration."""
    environment = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    person = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
    command = ("git", "-C", repository, *person, *arguments)
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commits(repository, language):
    """A new repository. [(planted share of the loop, old commit, new commit)], the same for each
    call except for the commits' names."""
    _, file, text, steps, *_ = LANGUAGES[language]
    draw = random.Random(language)
    planted = [draw.uniform(0.02, 0.06) for _ in range(PAIRS)] + [0.0] * PAIRS
    draw.shuffle(planted)
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    names = []
    for number, share in enumerate([0.0, *planted]):
        steps = round(steps * (1 + share))
        (repository / file).write_text(text % {"steps": steps, "note": f"change {number}"})
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", f"change {number}")
        names.append(git(repository, "rev-parse", "HEAD"))
    return list(zip(planted, names, names[1:]))


def more(language):
    """Further options: Python's modules are no part of its program; its hash seed is fixed."""
    if language != "python":
        return []
    ask = [LANGUAGES[language][0], "-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])"]
    modules = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    return ["--env", "PYTHONHASHSEED=0", "--with", modules]


def answer(faultline, directory, language, old, new):
    """The answer of `ci`: state, change and seconds."""
    *_, build, command = LANGUAGES[language]
    environment = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"))
    words = [faultline, "--db", str(directory / "ci.sqlite"), "ci", f"{old}..{new}", "--quiet", "--format", "json"]
    words += ["--build", build, "--build-network", "--budget", f"{BUDGET:.0%}", "--time", "5s", *more(language), "--", *command]
    began_s = time.monotonic()
    done = subprocess.run(words, cwd=directory / "repository", env=environment, capture_output=True, text=True, timeout=1800)
    seconds = round(time.monotonic() - began_s, 1)
    if done.returncode not in (0, 1):
        return {"state": "not measured", "output": done.stdout + done.stderr, "change": None, "seconds": seconds}
    result = json.loads(done.stdout)
    [program] = result["programs"]
    row = next(row for row in program["rows"] if row["quantity"] == "instructions")
    return {"state": result["state"], "change": row["change"], "seeds": row.get("executions"), "overlap": program.get("overlap"),
            "measures": [row["quantity"] for row in program["rows"] if row["decides"]], "seconds": seconds}


def is_right(case):
    return case["state"] == "worse" if case["planted"] else case["state"] in ("within", "inconclusive")


def shown(case):
    change = "" if case["change"] is None else f" {case['change']:+.2%}"
    seeds = f", {case['seeds']} seeds" if case.get("seeds") else ""
    text = f"{case['language']} {case['number']}: planted {case['planted']:+.1%} of the loop: {case['state']}{change}{seeds} in {case['seconds']:.0f} s"
    return text + ("" if is_right(case) else f"  WRONG {case.get('output', '')}")


def next_cases(languages, saved, pairs):
    """The cases of the next pairs that lack an answer: (language, number of the commit), one pair
    of each language after the other."""
    done = {(case["language"], case["number"]) for case in saved}
    cases = []
    with tempfile.TemporaryDirectory() as directory:
        kinds = {language: [share > 0 for share, *_ in commits(Path(directory, language), language)] for language in languages}
    for pair in range(PAIRS):
        for language in languages:
            of_kind = [[number for number, is_planted in enumerate(kinds[language]) if is_planted == kind] for kind in (True, False)]
            lacking = [(language, numbers[pair]) for numbers in of_kind if (language, numbers[pair]) not in done]
            if lacking and len(cases) < pairs:
                cases.append(lacking)
    return [case for lacking in cases for case in lacking]


def measure(faultline, cases, load, results):
    """Measures cases. Saves and prints each answer."""
    with tempfile.TemporaryDirectory() as room, conditions.load(load, 1, "always", is_elsewhere=True):
        changes = {}
        for language, number in cases:
            directory = Path(room, language)
            if language not in changes:
                directory.mkdir()
                changes[language] = commits(directory / "repository", language)
            planted, old, new = changes[language][number]
            case = {"language": language, "number": number, "planted": planted, "load": load,
                    **answer(faultline, directory, language, old, new)}
            with open(results, "a") as file:
                file.write(json.dumps(case) + "\n")
            print(shown(case), flush=True)


def total(name, cases):
    """A line about answers."""
    planted = [case for case in cases if case["planted"]]
    empty = [case for case in cases if not case["planted"]]
    found, false = sum(map(is_right, planted)), sum(not is_right(case) for case in empty)
    seconds = sorted(case["seconds"] for case in cases)
    return (f"{name}: {found} of {len(planted)} planted changes found, {false} of {len(empty)} empty ones not passed; "
            f"median {statistics.median(seconds):.0f} s, at most {seconds[-1]:.0f} s, {sum(seconds) / 60:.1f} min in all")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("faultline", type=Path)
    arguments.add_argument("--pairs", type=int, default=PAIRS * len(LANGUAGES))
    arguments.add_argument("--results", type=Path, default=Path("planted.jsonl"))
    arguments.add_argument("--load", type=int, default=8)
    arguments.add_argument("--languages", default=",".join(LANGUAGES))
    asked = arguments.parse_args()
    languages = []
    for language in asked.languages.split(","):
        if shutil.which(LANGUAGES[language][0]):
            languages.append(language)
        else:
            print(f"{language}: left out, there is no {LANGUAGES[language][0]}")

    def saved():
        return [json.loads(line) for line in asked.results.read_text().splitlines()] if asked.results.exists() else []

    measure(str(asked.faultline.resolve()), next_cases(languages, saved(), asked.pairs), asked.load, asked.results)
    cases = saved()
    for language in languages:
        own = [case for case in cases if case["language"] == language]
        print(total(language, own) if own else f"{language}: not measured yet")
    if cases:
        print(total("all", cases))
    sys.exit(not all(map(is_right, cases)))


if __name__ == "__main__":
    main()
