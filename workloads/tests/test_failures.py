"""Failures: each ends with its own status, prints one line, and leaves nothing behind."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import programs
import protocol

SETTLE_S = 5


def wait_until(condition, limit_s=SETTLE_S):
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class WithScratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="faultline-test-")
        self.addCleanup(shutil.rmtree, self.scratch, True)

    def assertScratchEmpty(self):
        self.assertTrue(wait_until(lambda: os.listdir(self.scratch) == []), os.listdir(self.scratch))

    def start_in_window(self, workload, *arguments):
        """A workload whose region of interest has begun."""
        process = programs.start(workload, "--scratch", self.scratch, *arguments)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("begin"):
                return process
        self.fail("never began: " + process.stderr.read())

    def assertAllGone(self, pids):
        self.assertTrue(wait_until(lambda: not any(programs.alive(pid) for pid in pids)), pids)


class BadArguments(unittest.TestCase):
    def test_a_wait_for_a_device_needs_one(self):
        if not os.path.isdir("/dev/shm") or not os.access("/dev/shm", os.W_OK):
            self.skipTest("no file system in memory")
        for workload in ["file_append", "tree_unpack"]:
            result = programs.run(workload, "--variant", "sync", "--scratch", "/dev/shm", "--window-ms", "50")
            self.assertEqual(result.returncode, 69, result.stdout)
            self.assertIn("failure unsupported statfs 0 the scratch directory is on tmpfs", result.stdout)
        result = programs.run("file_append", "--scratch", "/dev/shm", "--window-ms", "50")
        self.assertIn("note figure_of memory", result.stdout)

    def test_status_one_line_and_a_hint(self):
        cases = [
            ("zero_fill", "--tasks", "0"),
            ("zero_fill", "--tasks", "-1"),
            ("zero_fill", "--tasks", "two"),
            ("zero_fill", "--tasks", "99999"),
            ("zero_fill", "--tasks"),
            ("zero_fill", "--tasks", "1x"),
            ("zero_fill", "--tasks", "99999999999999999999999"),
            ("zero_fill", "--variant", "hug"),
            ("zero_fill", "--mode", "fiber"),
            ("zero_fill", "--pin", "0,,1"),
            ("zero_fill", "--pin", ""),
            ("zero_fill", "--pin", "0,"),
            ("zero_fill", "--pin", "0-3"),
            ("zero_fill", "--window-ms", "0"),
            ("zero_fill", "--window-ms", "50", "--interval-ms", "51"),
            ("zero_fill", "--ops", "0"),
            ("zero_fill", "--size", "0"),
            ("zero_fill", "--size", "100"),
            ("zero_fill", "--variant", "huge", "--size", "4096"),
            ("zero_fill", "--scratch", "/no/such/directory"),
            ("zero_fill", "--frobnicate", "1"),
            ("zero_fill", "stray"),
            ("zero_fill", "--copies", "2"),
            ("zero_fill", "--", "true"),
            ("path_stat", "--size", "4096"),
            ("path_stat", "--mode", "thread"),
            ("fault_existing", "--size", "4096"),
            ("map_churn", "--variant", "threads", "--mode", "process"),
            ("tree_build", "--copies", "0"),
            ("tree_build", "--size", "6000"),
            ("tree_build", "--tree", "/"),
            ("tree_build", "--variant", "given"),
            ("tree_build", "--variant", "given", "--tree", "/no/such", "--", "true"),
            ("tree_build", "--variant", "given", "--tree", "/", "--", "true"),
            ("tree_build", "--variant", "given", "--tree", "/usr/include", "--"),
            ("program",),
            ("program", "--"),
            ("program", "true"),
            ("program", "--size", "2", "--", "true"),
            ("program", "--ops", "2", "--", "true"),
            ("program", "--copies", "0", "--", "true"),
            ("program", "--tasks", "4096", "--copies", "2", "--", "true"),
            ("program", "--mode", "thread", "--", "true"),
            ("program", "--variant", "other", "--", "true"),
        ]
        for case in cases:
            with self.subTest(case):
                result = programs.run(*case)
                self.assertEqual(result.returncode, 64)
                self.assertEqual(result.stdout, "")
                lines = result.stderr.splitlines()
                self.assertEqual(len(lines), 2, lines)
                self.assertTrue(lines[1].startswith("hint: "))


class SystemCalls(WithScratch):
    def assertFailure(self, result, step, errno):
        output = protocol.parse(result.stdout)
        self.assertEqual(result.returncode, 71, result.stderr)
        self.assertEqual(output.failure[:3], ("os", step, errno))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertFalse(output.done)

    def test_cpu_that_is_not_there(self):
        self.assertFailure(programs.run("zero_fill", "--pin", "4000"), "pin", 22)

    def test_no_memory(self):
        def limit():
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

        for mode in ("process", "thread"):
            with self.subTest(mode):
                result = programs.run("zero_fill", "--size", 1 << 30, "--mode", mode, "--tasks", 2, preexec_fn=limit)
                self.assertFailure(result, "mmap", 12)

    def test_no_space_for_the_copies(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("a small file system takes root and unshare")
        # Private mounts fail in a changed root that is not a mount point. Without shared mounts
        # they are not needed.
        shared = " shared:" in pathlib.Path("/proc/self/mountinfo").read_text()
        unshare = ["unshare", "--mount"] if shared else ["unshare", "--mount", "--propagation", "unchanged"]
        for variant, step in [("static-distinct", "copy"), ("static-shared", "copy")]:
            if not (programs.BUILD / "self_exec_image.static").exists():
                self.skipTest("no static image")
            with self.subTest(variant):
                script = 'mount -t tmpfs -o size=64k none "$0" && "$@"; status=$?; ls -A "$0" >&2; exit $status'
                result = subprocess.run(
                    [*unshare, "sh", "-c", script, self.scratch,
                     *programs.command("self_exec", "--variant", variant, "--tasks", 2, "--scratch", self.scratch)],
                    capture_output=True, text=True, timeout=30)
                self.assertFailure(result, step, 28)  # and the directory's listing was empty

    def test_scratch_that_cannot_be_written(self):
        result = programs.run("path_stat", "--scratch", "/proc")
        self.assertEqual(result.returncode, 71)
        self.assertEqual(protocol.parse(result.stdout).failure[:2], ("os", "scratch"))

    def test_exec_that_stops_working(self):
        process = self.start_in_window("self_exec", "--variant", "dynamic-shared", "--tasks", "2", "--window-ms", "20000")
        (image,) = pathlib.Path(self.scratch).glob("*/image-0")
        image.unlink()
        rest, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 71)
        self.assertRegex(rest.splitlines()[-1], r"^failure os exec 2 No such file or directory")
        self.assertScratchEmpty()

    def test_file_that_vanishes(self):
        process = self.start_in_window("path_stat", "--variant", "deep", "--tasks", "2", "--window-ms", "20000")
        next(pathlib.Path(self.scratch).glob("*/d1/**/file-1")).unlink()
        rest, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 71)
        self.assertRegex(rest.splitlines()[-1], r"^failure os stat 2 No such file or directory")
        self.assertScratchEmpty()

    def test_closed_standard_output(self):
        process = programs.start("zero_fill", "--window-ms", "20000", "--interval-ms", "20")
        process.stdout.close()
        self.assertEqual(process.wait(timeout=30), 71)
        self.assertIn("standard output", process.stderr.read())
        process.stderr.close()

    def test_no_standard_streams(self):
        result = subprocess.run(["sh", "-c", 'exec "$0" --window-ms 100 >&-', *programs.command("zero_fill")],
                                stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(result.returncode, 71)
        self.assertIn("standard output", result.stderr)
        result = subprocess.run(["sh", "-c", 'exec "$0" --window-ms 100 <&- 2>&-', *programs.command("zero_fill")],
                                stdout=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(protocol.parse(result.stdout).done)

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(programs.command("zero_fill"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(result.returncode, 71)
        self.assertIn("No space left", result.stderr)


class Deaths(WithScratch):
    CASES = [
        ("zero_fill", "--tasks", "2"),
        ("zero_fill", "--tasks", "2", "--mode", "thread"),
        ("self_exec", "--variant", "dynamic-distinct", "--tasks", "2"),
        ("path_stat", "--tasks", "2"),
        ("fork_exit", "--tasks", "2"),
        ("compile", "--tasks", "2"),
    ]

    def test_task_killed_from_outside(self):
        for case in self.CASES:
            with self.subTest(case):
                process = self.start_in_window(*case, "--window-ms", "20000")
                guard, *tasks = sorted(programs.children(process.pid))
                os.kill(tasks[-1], signal.SIGKILL)
                begun = time.monotonic()
                rest, errors = process.communicate(timeout=30)
                self.assertLess(time.monotonic() - begun, 3)
                self.assertEqual(process.returncode, 71)
                self.assertRegex(rest.splitlines()[-1], r"^failure os task \d+ .*signal 9")
                self.assertEqual(len(errors.splitlines()), 1, errors)
                self.assertAllGone([guard, *tasks])
                self.assertScratchEmpty()

    def kill_coordinator(self, case, build=programs.BUILD):
        process = programs.start(*case, "--scratch", self.scratch, "--window-ms", "20000", build=build)
        for line in process.stdout:
            if line.startswith("begin"):
                break
        pids = programs.descendants(process.pid)
        self.assertGreaterEqual(len(pids), 2)
        process.kill()
        process.communicate(timeout=30)
        self.assertAllGone(pids)
        self.assertScratchEmpty()

    def test_coordinator_killed(self):
        for case in self.CASES:
            with self.subTest(case):
                self.kill_coordinator(case)

    def test_coordinator_killed_without_linux_help(self):
        for case in self.CASES:
            with self.subTest(case):
                self.kill_coordinator(case, build=programs.PORTABLE)

    def test_coordinator_told_to_end(self):
        for case in self.CASES:
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(case=case, number=number):
                    process = self.start_in_window(*case, "--window-ms", "20000")
                    pids = programs.descendants(process.pid)
                    process.send_signal(number)
                    begun = time.monotonic()
                    process.communicate(timeout=30)
                    self.assertLess(time.monotonic() - begun, 2)
                    self.assertEqual(process.returncode, -number)
                    self.assertFalse(any(programs.alive(pid) for pid in pids))
                    self.assertEqual(os.listdir(self.scratch), [])


class NothingIsLeft(WithScratch):
    def test_no_descriptor_left_for_the_removal(self):
        def limit():
            import resource

            resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

        result = programs.run("self_exec", "--variant", "dynamic-shared", "--tasks", 64, "--scratch", self.scratch,
                              preexec_fn=limit)
        self.assertEqual(protocol.parse(result.stdout).failure[:3], ("os", "object", 24))
        self.assertEqual(os.listdir(self.scratch), [])

    def test_directories_without_rights(self):
        tree = pathlib.Path(tempfile.mkdtemp(prefix="faultline-tree-"))
        self.addCleanup(shutil.rmtree, tree, True)
        tree.chmod(0o755)
        os.chmod(self.scratch, 0o777)
        become = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        if become and shutil.which("setpriv") is None:
            self.skipTest("root needs setpriv to give up its rights")
        result = subprocess.run(
            [*become, *programs.command("tree_build", "--variant", "given", "--tree", tree, "--scratch", self.scratch, "--",
                                        "sh", "-c", "mkdir -p a/b/c d && touch a/b/c/x d/y && chmod 0 a/b && chmod 500 d a")],
            capture_output=True, text=True, timeout=30)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.scratch), [])

    def test_child_in_a_session_of_its_own(self):
        with tempfile.TemporaryDirectory() as tree:
            pid_file = pathlib.Path(self.scratch) / "pid"
            result = programs.run("tree_build", "--variant", "given", "--tree", tree, "--scratch", self.scratch, "--", "sh",
                                  "-c", f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 1000' & "
                                        f"while ! test -s {pid_file}; do sleep 0.01; done")
        self.assertEqual(result.returncode, 0, result.stderr)
        pid = int(pid_file.read_text())
        self.assertFalse(programs.alive(pid))

    def test_writer_that_ignores_being_told_to_end(self):
        tree = tempfile.mkdtemp(prefix="faultline-tree-")
        self.addCleanup(shutil.rmtree, tree, True)
        process = self.start_in_window("tree_build", "--variant", "given", "--tree", tree, "--", "sh", "-c",
                                       "trap '' TERM; while :; do mkdir -p ../new/a; : > ../new/a/b; done")
        self.assertTrue(wait_until(lambda: list(pathlib.Path(self.scratch).glob("*/new/a"))))
        pids = programs.descendants(process.pid)
        process.kill()
        self.assertAllGone(pids)
        self.assertScratchEmpty()


class Compilers(WithScratch):
    """$CC may be any program."""

    def compiler(self, script):
        directory = tempfile.mkdtemp(prefix="faultline-cc-")
        self.addCleanup(shutil.rmtree, directory, True)
        path = pathlib.Path(directory) / "cc"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return os.environ | {"CC": str(path), "SCRATCH": self.scratch}

    def run_with(self, workload, script, *arguments):
        result = programs.run(workload, "--scratch", self.scratch, *arguments, env=self.compiler(script))
        self.assertEqual(os.listdir(self.scratch), [])
        return result, protocol.parse(result.stdout)

    def test_one_that_does_nothing(self):
        for workload, step in [("compile", "compiler"), ("tree_build", "command")]:
            with self.subTest(workload):
                result, output = self.run_with(workload, "exit 0\n")
                self.assertEqual(result.returncode, 71)
                self.assertEqual(output.failure[:3], ("os", step, 2))

    def test_files_in_between_are_in_scratch(self):
        script = 'case "$TMPDIR" in "$SCRATCH"/*) ;; *) test "$1" = --version || exit 9 ;; esac\nexec cc "$@"\n'
        for workload, arguments in [("compile", ["--ops", 2, "--tasks", 2]), ("tree_build", ["--size", 2])]:
            with self.subTest(workload):
                result, output = self.run_with(workload, script, *arguments)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_whose_server_holds_its_output(self):
        script = 'if test "$1" = --version; then sleep 1000 & echo server; exit 0; fi\nexec cc "$@"\n'
        begun = time.monotonic()
        result, output = self.run_with("compile", script, "--ops", 1)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(output.notes["compiler"], "server")
        self.assertLess(time.monotonic() - begun, 8)

    def test_make_told_not_to_make(self):
        for change in ({"GNUMAKEFLAGS": "-n"}, {"MAKEFLAGS": "n"}, {"MAKEFILES": "/dev/null"}):
            with self.subTest(change):
                result = programs.run("tree_build", "--size", 2, env=os.environ | change)
                output = protocol.parse(result.stdout)
                self.assertTrue(output.done, result.stderr)
                self.assertGreater(output.measures["user_s"][2], 0.01)  # it was built nevertheless


class Trees(WithScratch):
    def build(self, *arguments):
        result = programs.run("tree_build", "--scratch", self.scratch, *arguments)
        self.assertEqual(os.listdir(self.scratch), [])
        return result, protocol.parse(result.stdout)

    def make_tree(self):
        tree = pathlib.Path(tempfile.mkdtemp(prefix="faultline-tree-"))
        self.addCleanup(shutil.rmtree, tree, True)
        (tree / "sub").mkdir()
        (tree / "sub/data").write_text("data")
        (tree / "sub/script").write_text("#!/bin/sh\ntest -L link && test \"$(cat link)\" = data && test ! -w sub/locked\n")
        (tree / "sub/script").chmod(0o755)
        (tree / "link").symlink_to("sub/data")
        (tree / "sub/locked").write_text("")
        (tree / "sub/locked").chmod(0o444)
        os.utime(tree / "sub/data", (1e9, 1e9))
        return tree

    def test_generated(self):
        result, output = self.build("--size", 4, "--tasks", 2, "--copies", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list(output.measures), ["real_s", "user_s", "system_s"])
        for unit, direction, value in output.measures.values():
            self.assertEqual((unit, direction), ("s", "lower"))
            self.assertGreater(value, 0)
        self.assertEqual(output.notes["copies"], "2")
        self.assertEqual(output.usage_scope, "window")

    def test_generated_is_the_same_each_time(self):
        listing = "cat Makefile *.c *.h | cksum > sum && cp sum $OUT"
        sums = []
        for _ in range(2):
            with tempfile.NamedTemporaryFile() as out:
                # A `make` in a directory at the front of $PATH sees the tree during the build.
                with tempfile.TemporaryDirectory() as bin_directory:
                    make = pathlib.Path(bin_directory) / "make"
                    make.write_text(f"#!/bin/sh\ntest \"$1\" = --version && exit 0\n{listing}\ntouch program && chmod +x program\n")
                    make.chmod(0o755)
                    environment = os.environ | {"PATH": bin_directory + ":" + os.environ["PATH"], "OUT": out.name}
                    result = programs.run("tree_build", "--size", 3, env=environment)
                    self.assertEqual(result.returncode, 0, result.stderr)
                sums.append(pathlib.Path(out.name).read_text())
        self.assertEqual(sums[0], sums[1])
        self.assertNotEqual(sums[0], "")

    def test_given_tree_is_copied_as_it_is(self):
        tree = self.make_tree()
        if os.geteuid() == 0:  # root may write anything
            script = (tree / "sub/script").read_text().replace("test ! -w sub/locked", "ls -l sub/locked | grep -q ^-r--r--r--")
            (tree / "sub/script").write_text(script)
        result, output = self.build("--variant", "given", "--tree", tree, "--copies", 3, "--", "sub/script")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list(output.measures)[0], "real_s")
        result, _ = self.build("--variant", "given", "--tree", tree, "--", "sh", "-c",
                               "test sub/data -ot sub/script && test \"$0\" = -j3", "-j{tasks}", )
        self.assertEqual(result.returncode, 71)  # one task: -j1
        result, _ = self.build("--variant", "given", "--tree", tree, "--tasks", 3, "--", "sh", "-c",
                               "test sub/data -ot sub/script && test \"$0\" = -j3", "-j{tasks}", )
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_failing_command(self):
        tree = self.make_tree()
        result, output = self.build("--variant", "given", "--tree", tree, "--copies", 2, "--", "sh", "-c", "echo broken; exit 3")
        self.assertEqual(result.returncode, 71)
        self.assertEqual(output.failure[:3], ("os", "command", 3))
        self.assertIn("broken", result.stderr)

    def test_missing_command(self):
        result, output = self.build("--variant", "given", "--tree", self.make_tree(), "--", "no-such-command")
        self.assertEqual(result.returncode, 71)
        self.assertEqual(output.failure[:3], ("os", "exec", 2))

    def test_copy_says_what_it_could_not_copy(self):
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            self.skipTest("root may read anything")
        tree = self.make_tree()
        tree.chmod(0o755)
        (tree / "sub/locked").chmod(0)
        os.chmod(self.scratch, 0o777)
        become = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        result = subprocess.run([*become, *programs.command("tree_build", "--variant", "given", "--tree", tree, "--scratch",
                                                            self.scratch, "--", "true")],
                                capture_output=True, text=True, timeout=30)
        self.assertEqual(protocol.parse(result.stdout).failure, ("os", "copy", 13, f"{tree}/sub/locked: Permission denied"))

    def test_no_make(self):
        with tempfile.TemporaryDirectory() as empty:
            result = programs.run("tree_build", env={"PATH": empty, "CC": shutil.which("cc")})
        self.assertEqual(result.returncode, 69)
        self.assertEqual(protocol.parse(result.stdout).failure[:2], ("unsupported", "make"))

    def test_killed_builds_end_too(self):
        tree = self.make_tree()
        process = self.start_in_window("tree_build", "--variant", "given", "--tree", str(tree), "--", "sh", "-c",
                                       "sleep 1000 & sleep 1000")
        self.assertTrue(wait_until(lambda: len(programs.descendants(process.pid)) >= 4))
        pids = programs.descendants(process.pid)
        process.kill()
        self.assertAllGone(pids)
        self.assertScratchEmpty()


class Commands(WithScratch):
    """A user's command, run by `program`."""

    def run_command(self, *words, options=(), **keywords):
        result = programs.run("program", "--scratch", self.scratch, *options, "--", *words, **keywords)
        self.assertEqual(os.listdir(self.scratch), [])
        return result, protocol.parse(result.stdout)

    def assertWell(self, result, output):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(output.done)

    def test_without_a_command(self):
        self.assertEqual(programs.run("program").stderr.splitlines()[0], "program needs a command after --")

    def test_measures(self):
        result, output = self.run_command("sleep", "0.05", options=["--tasks", 2])
        self.assertWell(result, output)
        self.assertEqual(list(output.measures), ["real_s", "user_s", "system_s", "largest_process_bytes"])
        self.assertEqual(output.measures["real_s"][:2], ("s", "lower"))
        self.assertEqual(output.measures["largest_process_bytes"][:2], ("byte", "lower"))
        real_s = output.measures["real_s"][2]
        self.assertGreaterEqual(real_s, 0.05)  # both concurrently
        self.assertLess(real_s, (int(output.fields["end"]) - int(output.fields["begin"])) / 1e9)
        self.assertEqual((output.usage_scope, output.intervals, output.fields["unit"]), ("window", [], "s"))
        self.assertGreater(output.counters["stat.context_switches"], 0)

    def test_words_are_words(self):
        """Words are not read by a shell, and belong to the command even if they look like our
        options.
        """
        with tempfile.TemporaryDirectory() as directory:
            script = pathlib.Path(directory) / "script"
            script.write_text("#!/bin/sh\nfor word; do echo \"<$word>\" >> words; done\n")
            script.chmod(0o755)
            words = ["a  b", "$HOME;*", "--tasks", "", "--", "{tasks}"]
            # it runs in the caller's directory
            self.assertWell(*self.run_command("./script", *words, cwd=directory))
            self.assertEqual((pathlib.Path(directory) / "words").read_text().splitlines(), [f"<{word}>" for word in words])

    def test_as_many_copies_as_asked_for_at_once(self):
        """Each copy waits until all have started."""
        with tempfile.TemporaryDirectory() as directory:
            script = "echo $$ >> pids; while test $(wc -l < pids) -lt 6; do sleep 0.01; done"
            result, output = self.run_command("sh", "-c", script, options=["--tasks", 3, "--copies", 2], cwd=directory)
            self.assertWell(result, output)
            self.assertEqual(len(set((pathlib.Path(directory) / "pids").read_text().split())), 6)
            self.assertEqual(output.notes["copies"], "2")

    def test_streams(self):
        script = "test \"$(cat | wc -c)\" -eq 0 && echo shown? && echo shown? >&2"
        self.assertWell(*self.run_command("sh", "-c", script))

    def test_times_are_of_the_whole_tree(self):
        """Usage of grandchildren counts, even if their parent did not wait for them."""
        burn = "i=0; while test $i -lt 60000; do i=$((i+1)); done; : > done\n"
        left = "(sh ./burn &); while ! test -e done; do sleep 0.01; done; sleep 0.1"
        for script in ("sh -c 'sh ./burn; :'; :", left):
            with self.subTest(script), tempfile.TemporaryDirectory() as directory:
                (pathlib.Path(directory) / "burn").write_text(burn)
                result, output = self.run_command("sh", "-c", script, cwd=directory)
                self.assertWell(result, output)
                used_s = output.measures["user_s"][2] + output.measures["system_s"][2]
                self.assertGreater(used_s, 0.02)

    def test_largest_process(self):
        script = "b'x' * (200 << 20)"
        result, output = self.run_command(sys.executable, "-c", script)
        self.assertWell(result, output)
        self.assertGreater(output.measures["largest_process_bytes"][2], 200 << 20)
        self.assertLess(output.measures["largest_process_bytes"][2], 400 << 20)

    def test_pinned(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        with tempfile.TemporaryDirectory() as directory:
            script = "import os; open(str(os.getpid()), 'w').write(repr(os.sched_getaffinity(0)))"
            result, output = self.run_command(sys.executable, "-c", script, cwd=directory,
                                              options=["--tasks", 2, "--copies", 2, "--pin", ",".join(map(str, cpus))])
            self.assertWell(result, output)
            found = sorted(path.read_text() for path in pathlib.Path(directory).iterdir())
        self.assertEqual(found, sorted(repr({cpus[copy % len(cpus)]}) for copy in (0, 1, 0, 1)))
        result, output = self.run_command("true", options=["--tasks", 2, "--pin", f"{cpus[0]},4000"])
        self.assertEqual((result.returncode, output.failure), (71, ("os", "pin", 22, "Invalid argument")))

    def test_one_that_fails(self):
        result, output = self.run_command("sh", "-c", "seq 3000 >&2; printf 'no\\tluck\\n\\n' >&2; exit 3",
                                          options=["--tasks", 2])
        self.assertEqual(result.returncode, 71)
        self.assertEqual(output.failure, ("os", "command", 3, "sh ended with status 3: no?luck"))
        self.assertTrue(result.stderr.endswith("2999\n3000\nno\tluck\n\ncommand: sh ended with status 3: no\tluck\n"))
        result, output = self.run_command("sh", "-c", "kill -SEGV $$")
        self.assertEqual((result.returncode, output.failure), (71, ("os", "command", 10, "sh was ended by signal 11")))

    def test_one_of_several_that_fails_ends_all(self):
        with tempfile.TemporaryDirectory() as directory:
            script = "mkdir first 2>/dev/null && exit 5; echo $$ > pid; exec sleep 1000"
            begun = time.monotonic()
            result, output = self.run_command("sh", "-c", script, options=["--tasks", 2], cwd=directory)
            self.assertEqual(output.failure[:3], ("os", "command", 5))
            self.assertLess(time.monotonic() - begun, 5)
            pid = pathlib.Path(directory) / "pid"
            if pid.exists() and pid.read_text():
                self.assertFalse(programs.alive(int(pid.read_text())))

    def test_one_that_can_not_be_started(self):
        for word, number, text in [("no-such-command", 2, "No such file or directory"), ("/etc", 13, "Permission denied")]:
            result, output = self.run_command(word)
            self.assertEqual(result.returncode, 71)
            self.assertEqual(output.failure, ("os", "exec", number, f"cannot start {word}: {text}"))

    def test_children_it_leaves_behind_are_gone(self):
        pid_file = pathlib.Path(tempfile.mkdtemp(prefix="faultline-test-")) / "pid"
        self.addCleanup(shutil.rmtree, pid_file.parent, True)
        script = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 1000' & while ! test -s {pid_file}; do sleep 0.01; done"
        self.assertWell(*self.run_command("sh", "-c", script))
        self.assertFalse(programs.alive(int(pid_file.read_text())))

    def test_killed_before_it_lets_go_starts_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            for build in (programs.BUILD, programs.PORTABLE):
                for delay_ms in range(0, 10):
                    process = programs.start("program", "--scratch", self.scratch, "--tasks", "4", "--", "sh", "-c",
                                             "echo $PPID >> begun; sleep 1000", build=build, cwd=directory)
                    time.sleep(delay_ms / 1000)
                    process.kill()
                    out, _ = process.communicate(timeout=30)
                    begun = pathlib.Path(directory) / "begun"
                    if "begin" not in out:
                        self.assertFalse(begun.exists() and str(process.pid) in begun.read_text().split())
                    self.assertScratchEmpty()
            self.assertTrue(wait_until(lambda: not [pid for pid, _, words in programs.processes()
                                                    if words[:2] == ["sleep", "1000"] and in_directory(pid, directory)]))


def in_directory(pid, directory):
    try:
        return os.readlink(f"/proc/{pid}/cwd") == directory
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
