#!/usr/bin/env python3
"""Grades submissions twice, the second time under load, and checks the grades.

Usage: check.py [FAULTLINE [LOAD]]

LOAD: processes that keep each of the host's CPUs busy; default 2.

A submission is the solution or the given code with a few edits. Exits with 1 if a report differs
between the two times, or a grade from the expected one.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def edited(base, *edits):
    text = (HERE / base).read_text()
    for old, new in edits:
        assert old in text, (base, old)
        text = text.replace(old, new)
    return text


OWN_LINES = "#define ON_OWN_LINES __attribute__((aligned(LINE_BYTES)))"

# Name, text, grade, and words of the report.
SUBMISSIONS = [
    ("given", edited("lab.c"), 40, "1.04"),
    ("right", edited("solution.c"), 100, ""),
    # Two sets for all blocks.
    ("half right: few sets", edited("solution.c", ("#define SETS 16", "#define SETS 2")), 70, ""),
    ("half right: pages only", edited("solution.c", ("block % SETS", "block / 1000")), 70, ""),
    ("padded wrongly: not at all", edited("solution.c", (OWN_LINES, "#define ON_OWN_LINES")), 55, "uses"),
    ("padded wrongly: the locks only", edited(
        "solution.c", ("    char whole_lines[(sizeof(struct buffer) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES];\n", ""),
        ("} ON_OWN_LINES buffers[BUFFERS]", "} buffers[BUFFERS]")), 85, "data["),
    ("padded wrongly: one list with a lock for each CPU", edited(
        "lab.c", ("    struct lock lock;\n    struct free_page *first;", "    struct lock lock;\n    char padding[64];\n    struct free_page *first;")), 40, ""),
    ("racy: a list without its lock", edited(
        "solution.c", ("    lock_take(&pages[cpu].lock);\n    free->next", "    free->next"),
        ("    pages[cpu].first = free;\n    lock_release(&pages[cpu].lock);", "    pages[cpu].first = free;")), 50, "data race"),
    ("racy: a look without the lock", edited(
        "lab.c", ("    lock_take(&cache.lock);\n    struct buffer *buffer = find(block);", "    struct buffer *buffer = find(block);\n    lock_take(&cache.lock);")), 20, "data race"),
    ("racy: an own lock without atomics", edited(
        "solution.c", ('#include "lock.h"', '#include "lock.h"\n\nstatic void take(struct lock *lock)\n{\n    volatile int *word = &lock->is_taken;\n'
                       '    while (*word)\n        ;\n    *word = 1;\n}\n#define lock_take take')), 0, "data race"),
    ("not atomic: no second look after a miss", edited(
        "solution.c", ("    buffer = hold(set, block);\n    lock_release(&sets[set].lock);\n    for", "    lock_release(&sets[set].lock);\n    for")), 50, "two buffers"),
    ("incomplete: no pages of other CPUs", edited(
        "solution.c", ("i < CPUS; i++) {\n        const unsigned from", "i < 1; i++) {\n        const unsigned from")), 50, "page"),
    ("incomplete: no buffers of other sets", edited("solution.c", ("i < SETS && !buffer", "i < 1 && !buffer")), 50, "NULL"),
    ("stuck: a lock that is never released", edited(
        "lab.c", ("    buffer->used = ++cache.uses;\n    lock_release(&cache.lock);", "    buffer->used = ++cache.uses;")), 20, "wait for each other"),
    ("racy: a copy without the lock", edited(
        "lab.c", ("    lock_release(&pages.lock);\n    return page;", "    lock_release(&pages.lock);\n    static char copied[PAGE_BYTES];\n"
                  "    if (page)\n        __builtin_memcpy(copied, page, cpu + PAGES);\n    return page;")), 20, "data race"),
    ("right: copies that the compiler makes calls of", edited("solution.c") + """
void copy(char *restrict to, const char *restrict from, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = from[i];
}

int compare(char *to, const char *from, unsigned bytes)
{
    __builtin_memmove(to, from, bytes);
    return __builtin_memcmp(to, from, bytes);
}
""", 100, ""),
    ("refused: a memory fence", edited(
        "solution.c", ("    struct free_page *free = page;", "    struct free_page *free = page;\n    __atomic_thread_fence(__ATOMIC_SEQ_CST);")), 50, "page_put (lab.c"),
    ("refused: a region mark", edited(
        "solution.c", ("void buffers_start(void)\n{\n", 'void buffers_start(void)\n{\n    __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 2, 0x41, 0x46, 0");\n')), 0, "region mark"),
    ("refused: an end of the check", edited(
        "solution.c", ("void buffers_start(void)\n{\n", "void _Exit(int) __attribute__((weak));\n\nvoid buffers_start(void)\n{\n    if (_Exit)\n        _Exit(0);\n")), 50, "ends the check"),
    ("no C", "int x = ;\n", 0, "does not compile"),
]


def graded(text, directory):
    file = Path(directory) / "lab.c"
    file.write_text(text)
    began = time.monotonic()
    result = subprocess.run([sys.executable, HERE / "grade.py", file], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout, time.monotonic() - began


def grade_of(report):
    return int(report.splitlines()[-1].split()[1])


def main():
    if len(sys.argv) > 1:
        os.environ["FAULTLINE"] = str(Path(sys.argv[1]).resolve())
    load_of_cpu = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    failed, slowest, grades = 0, [0.0, 0.0], []
    with tempfile.TemporaryDirectory() as directory:
        first = []
        for _, text, _, _ in SUBMISSIONS:
            report, took = graded(text, directory)
            first.append(report)
            slowest[0] = max(slowest[0], took)
        busy = [sys.executable, "-c", "while True: pass"]
        load = [subprocess.Popen(busy) for _ in range(load_of_cpu * len(os.sched_getaffinity(0)))]
        try:
            for (name, text, expected, words), before in zip(SUBMISSIONS, first):
                report, took = graded(text, directory)
                slowest[1] = max(slowest[1], took)
                reached = grade_of(report)
                grades.append(reached)
                problems = ["differs under load"] * (report != before) + [f"expected {expected}"] * (reached != expected)
                problems += [f"the report lacks '{words}'"] * (words not in report)
                print(f"{reached:3}  {name}{': ' + ', '.join(problems) if problems else ''}", flush=True)
                if problems:
                    failed += 1
                    print(before, report, sep="\n")
        finally:
            for process in load:
                process.kill()
                process.wait()
    print(f"{len(SUBMISSIONS)} submissions, each graded twice; the slowest took {slowest[0]:.1f} s, {slowest[1]:.1f} s under load")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
