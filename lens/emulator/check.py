#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that this emulator counts as the distribution's: a kernel, a contended program and forked
processes on 8 CPUs, in both, and in this one with the self-check.

Usage: check.py FAULTLINE OWN [THEIRS]

OWN and THEIRS are the programs of the emulators, FAULTLINE is the command. THEIRS is otherwise the
one that `make emulator` provides, and is left out if its QEMU is another release. The reports are
compared byte for byte. Exits with 1 if one differs, or if the self-check compared nothing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_long shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long guarded;
static void *work(void *unused) {
    for (int i = 0; i < 1000; i++) {
        shared++;
        pthread_mutex_lock(&mutex);
        guarded++;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}
static void threads(void) {
    pthread_t all[8];
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, work, 0);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
}
/* Eight processes. Half of them execute the program again, and call the kernel there. */
static void processes(char *own) {
    atomic_long *word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 8; i++) {
        if (fork()) continue;
        for (int j = 0; j < 100; j++) {
            ++*word;
            getppid();
        }
        if (i & 1) execl(own, own, "calls", "only", (char *)0);
        _exit(0);
    }
    while (wait(0) > 0) {}
}
int main(int argc, char **argv) {
    if (argc > 2)
        for (int i = 0; i < 300; i++) getppid();
    else if (argc > 1)
        processes(argv[0]);
    else
        threads();
    return 0;
}
"""

# Starts the emulator, and keeps the plugin's report and the emulator's messages.
WRAPPER = """#!/usr/bin/env python3
import re, shutil, subprocess, sys
emulator, more, keep = {emulator!r}, {more!r}, {keep!r}
words = [word + more if "output=" in word else word for word in sys.argv[1:]]
report = re.search("output=([^,]*)", " ".join(words))
with open(keep + ".messages", "w") as messages:
    done = subprocess.run([emulator, *words], stderr=messages if report else None, close_fds=False)
if report:
    shutil.copyfile(report[1], keep)
sys.exit(done.returncode)
"""

PROVIDED = Path(__file__).resolve().parents[2] / "target/qemu/usr/bin/qemu-system-x86_64"
RELEASE = re.compile(r"^QEMU emulator version (\d+\.\d+)")

AGREE = re.compile(r"^faultline lens: (\d+) settled accesses agree", re.MULTILINE)


def counted(faultline, place, name, words, emulator, more=""):
    """The report of a run in that emulator, and its messages. `more`: arguments of the plugin."""
    keep, wrapper = place / f"{name}.json", place / f"{name}.py"
    wrapper.write_text(WRAPPER.format(emulator=os.path.abspath(emulator), more=more, keep=str(keep)), encoding="utf-8")
    wrapper.chmod(0o755)
    command = [faultline, "lens", *words[:1], "--tasks", "8", "--quiet", "--db", place / "runs.sqlite", "--qemu", wrapper, *words[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: exit status {done.returncode}\n{done.stdout}")
    return keep.read_bytes(), Path(f"{keep}.messages").read_text(encoding="utf-8", errors="replace")


def release(emulator):
    """The first two numbers of an emulator's version."""
    said = RELEASE.search(subprocess.run([emulator, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return said and said[1]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    faultline, own = sys.argv[1:3]
    theirs = sys.argv[3] if len(sys.argv) == 4 else PROVIDED if PROVIDED.exists() else shutil.which("qemu-system-x86_64")
    if not theirs or release(theirs) != release(own):
        print(f"left out: there is no QEMU {release(own)} of the distribution; hint: name one")
        return
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "contended.c").write_text(PROGRAM, encoding="utf-8")
        program = place / "contended"
        subprocess.run(["cc", "-O2", "-static", "-pthread", "-o", program, place / "contended.c"], check=True)
        by_process = ["--process", program.name, "--ops", "800"]
        cases = {
            "zero_fill": ["kernel", "zero_fill:base", "--ops", "256"],
            "contended": ["program", "--ops", "1000", "--", str(program)],
            "processes": ["program", *by_process, "--", str(program), "processes"],
        }
        failed = False
        for name, words in cases.items():
            report, _ = counted(faultline, place, f"{name}-theirs", words, theirs)
            for more in ("", ",check=on"):
                same, messages = counted(faultline, place, f"{name}-own{more[1:6]}", words, own, more)
                agreed = AGREE.search(messages)
                result = "equal reports" if same == report else "REPORTS DIFFER"
                if more:
                    result += f", {agreed[1] if agreed else 'NO'} settled accesses compared"
                failed |= same != report or bool(more) and not (agreed and int(agreed[1]))
                print(f"{name}{', self-check' if more else ''}: {result}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
