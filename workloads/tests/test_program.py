"""The command that `program` runs before the measured one."""

import pathlib
import sys
import tempfile
import time
import unittest

import programs


def prepared(*words):
    return [argument for word in words for argument in ("--prepare", word)]


class Preparation(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_in_directory(self, *arguments):
        return programs.run("program", *arguments, cwd=self.directory)

    def measure(self, result, name):
        self.assertEqual(result.returncode, 0, result.stderr)
        [line] = [line for line in result.stdout.splitlines() if line.startswith(f"measure {name} ")]
        return float(line.split()[-1])

    def test_it_runs_once_before_all_copies(self):
        result = self.run_in_directory(*prepared("sh", "-c", "sleep 0.3; echo prepared >> log"), "--copies", 2, "--",
                                       "sh", "-c", "echo measured >> log")
        self.assertLess(self.measure(result, "real_s"), 0.3)
        self.assertEqual((self.directory / "log").read_text(), "prepared\nmeasured\nmeasured\n")

    def test_its_resources_do_not_count(self):
        spend = "x=$(head -c 50000000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done"
        alone = self.run_in_directory("--", "sh", "-c", spend)
        beside = self.run_in_directory(*prepared("sh", "-c", spend), "--", "true")
        self.assertGreater(self.measure(alone, "largest_process_bytes"), 50e6)
        self.assertLess(self.measure(beside, "largest_process_bytes"), 25e6)
        self.assertLess(self.measure(beside, "user_s"), 0.5 * self.measure(alone, "user_s"))

    @unittest.skipUnless(sys.platform == "linux", "other systems give such processes to the first one")
    def test_processes_that_it_leaves_do_not_count(self):
        spend = "x=$(head -c 50000000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done"
        wait = "cat ended; sleep 0.5"
        alone = self.run_in_directory("--", "sh", "-c", spend)
        beside = self.run_in_directory(*prepared("sh", "-c", f"mkfifo ended; ({spend}; : > ended) &"), "--", "sh", "-c", wait)
        self.assertLess(self.measure(beside, "largest_process_bytes"), 25e6)
        self.assertLess(self.measure(beside, "user_s"), 0.5 * self.measure(alone, "user_s"))

    def test_its_failure_is_the_executions(self):
        for words, line in [
            (["sh", "-c", "echo no room >&2; exit 3"], "failure os prepare 3 sh ended with status 3: no room"),
            (["./nowhere", "--x"], "failure os prepare 2 cannot start ./nowhere: No such file or directory"),
        ]:
            with self.subTest(words=words):
                result = self.run_in_directory(*prepared(*words), "--", "touch", "measured")
                self.assertEqual(result.returncode, 71)
                self.assertEqual(result.stdout.splitlines()[-1], line)
                self.assertFalse((self.directory / "measured").exists())

    def test_it_is_killed_with_the_execution(self):
        process = programs.start("program", *prepared("sh", "-c", "echo $$ > pid; sleep 1000; true"), "--", "true",
                                 cwd=self.directory)
        pid_file = self.directory / "pid"
        deadline = time.monotonic() + 10
        while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.01)
        pid = int(pid_file.read_text())
        process.kill()
        process.communicate()
        while programs.alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(programs.alive(pid))


if __name__ == "__main__":
    unittest.main()
