"""Workloads over the network: their counts, and failures of an end or of the network."""

import concurrent.futures
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import programs
import protocol
from test_failures import WithScratch

# One variant of each workload that has peers.
WITH_PEERS = [("udp_stream", "ipv4"), ("tcp_stream", "send"), ("tcp_stream", "receive"), ("tcp_stream", "both"),
              ("tcp_connect", "ipv4"), ("tcp_rr", "ipv4"), ("udp_rr", "ipv4"), ("relay", "copy"), ("relay", "splice")]

# UDP has no connection: its sender does not notice a missing receiver.
NOTICES_SILENCE = [case for case in WITH_PEERS if case[0] != "udp_stream"]


def run(workload, variant, *arguments):
    result = programs.run(workload, "--variant", variant, *arguments)
    output = protocol.parse(result.stdout)
    assert output.done, result.stderr
    return output


def in_namespace(script, workload, *arguments):
    """Runs in a new network namespace that `script` has set up. None if this system does not allow
    one.
    """
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return None
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-ec", f"{script}\nexec \"$@\"", "sh"]
    if subprocess.run([*command, "true"], capture_output=True, timeout=30).returncode != 0:
        return None
    words = [*command, *programs.command(workload, *arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=programs.TIME_LIMIT_S)


class Counts(unittest.TestCase):
    def test_the_kernel_counts_the_packets_too(self):
        output = run("udp_send", "loop", "--ops", 5000, "--tasks", 2)
        self.assertGreaterEqual(output.counters["net.Udp.OutDatagrams"], 10000)
        self.assertGreaterEqual(output.counters["net.Udp.RcvbufErrors"], 9900)  # there is no reader
        output = run("tcp_connect", "ipv4", "--ops", 200)
        self.assertGreaterEqual(output.counters["net.Tcp.ActiveOpens"], 200)
        self.assertLess(output.counters.get("net.TcpExt.TW", 0), 100)  # a reset leaves no port behind

    def test_workloads_without_network_leave_its_counters_out(self):
        output = run("path_stat", "distinct", "--ops", 10)
        self.assertEqual([name for name in output.counters if name.startswith("net.")], [])

    def test_parts_that_send_nothing_have_no_bytes(self):
        for variant, bytes_ in [("loop", "1400"), ("write", "1400"), ("clock", None), ("select", None)]:
            output = run("udp_send", variant, "--ops", 1000)
            self.assertEqual(output.fields.get("bytes_per_operation"), bytes_)
            # Only its own packets; other programs on this machine send few.
            self.assertEqual(output.counters.get("net.Udp.OutDatagrams", 0) >= 1000, bytes_ is not None, variant)

    def test_what_arrives_and_what_is_lost_is_what_was_sent(self):
        output = run("udp_stream", "ipv4", "--window-ms", 500)
        sent = output.total() / 0.5
        unit, direction, received = output.measures["received"]
        self.assertEqual((unit, direction), ("packet/s", "higher"))
        lost = output.measures["lost_ratio"][2]
        self.assertGreater(received, 0)
        self.assertLess(abs(received - sent * (1 - lost)), 0.1 * sent)

    def test_every_byte_arrives(self):
        """The kernel's count of bytes, both ways, is at least that of the operations."""
        for variant in ["send", "receive", "both"]:
            output = run("tcp_stream", variant, "--ops", 1000)
            bytes_ = 1000 * int(output.fields["bytes_per_operation"])
            self.assertEqual(bytes_, 1000 * (2 if variant == "both" else 1) * (128 << 10))
            # The last may be in flight: as much as a connection's buffers hold.
            self.assertGreaterEqual(output.counters["net.IpExt.OutOctets"], bytes_ * 0.9)

    def test_sizes(self):
        for workload, variant, size in [("udp_send", "write", 1), ("udp_send", "write", 65487), ("udp_stream", "ipv4", 65487),
                                        ("tcp_stream", "both", 1), ("tcp_stream", "both", 1 << 24), ("tcp_rr", "ipv4", 1 << 20),
                                        ("udp_rr", "ipv4", 65487), ("relay", "copy", 1 << 22), ("relay", "splice", 1 << 22),
                                        ("relay", "splice", 1)]:
            with self.subTest(workload=workload, size=size):
                output = run(workload, variant, "--size", size, "--ops", 5)
                self.assertEqual(output.total(), 5)

    def test_peers_run_on_their_tasks_cpu_and_their_time_is_kept(self):
        cpus = sorted(os.sched_getaffinity(0))
        process = programs.start("tcp_rr", "--tasks", 2, "--pin", f"{cpus[0]},{cpus[-1]}", "--window-ms", 300)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("ready"):
                _guard, *rest = sorted(programs.children(process.pid))
                found = [os.sched_getaffinity(pid) for pid in rest]
        process.communicate(timeout=30)
        self.assertEqual(found, [{cpus[0]}, {cpus[-1]}] * 2)
        output = protocol.parse("".join(lines))
        self.assertTrue(0 < output.counters["peers.cpu_ns"] < 2 * 400e6, output.counters["peers.cpu_ns"])


class Latencies(unittest.TestCase):
    NAMES = ["latency_p50_s", "latency_p90_s", "latency_p99_s", "latency_p999_s"]

    def test_percentiles(self):
        for workload in ["tcp_rr", "udp_rr"]:
            with self.subTest(workload):
                output = run(workload, "ipv4", "--ops", 20000)
                self.assertEqual(output.notes["latency_samples"], "20000")
                self.assertEqual(list(output.measures), self.NAMES)
                values = [output.measures[name] for name in self.NAMES]
                self.assertEqual({(unit, direction) for unit, direction, _ in values}, {("s", "lower")})
                self.assertEqual(sorted(values), values)
                begin, end = int(output.fields["begin"]), int(output.fields["end"])
                mean_s = (end - begin) / 1e9 / 20000
                self.assertTrue(1e-7 < values[0][2] < 2 * mean_s, (values, mean_s))  # a median is at most twice the mean

    def test_a_percentile_needs_ten_samples_above_it(self):
        for operations, names in [(19, []), (20, self.NAMES[:1]), (99, self.NAMES[:1]), (100, self.NAMES[:2]), (1000, self.NAMES[:3])]:
            output = run("udp_rr", "ipv4", "--ops", operations)
            self.assertEqual(list(output.measures), names, operations)

    def test_only_the_window_counts(self):
        output = run("tcp_rr", "ipv4", "--warmup-ms", 300, "--window-ms", 100)
        samples = int(output.notes["latency_samples"])
        self.assertLess(abs(samples - output.total()), 0.3 * output.total() + 50)

    def stalled(self, workload, variant):
        """Stops the peer for half of a window of one second."""
        process = programs.start(workload, "--variant", variant, "--window-ms", "1000", "--warmup-ms", "0")
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("begin"):
                _guard, peer, _task = sorted(programs.children(process.pid))
                time.sleep(0.1)
                os.kill(peer, signal.SIGSTOP)
                time.sleep(0.5)
                os.kill(peer, signal.SIGCONT)
        process.communicate(timeout=30)
        output = protocol.parse("".join(lines))
        self.assertTrue(output.done)
        return output

    def test_a_schedule_leaves_no_omission(self):
        """With a schedule, half of all requests wait for the stopped peer, and their latency
        includes that; without one, only one of thousands waits.
        """
        for workload in ["tcp_rr", "udp_rr"]:
            with self.subTest(workload):
                closed = self.stalled(workload, "ipv4")
                self.assertLess(closed.measures["latency_p99_s"][2], 0.1)
                self.assertEqual(closed.notes["latency_since"], "the reply before")
                paced = self.stalled(workload, "paced")
                self.assertGreater(paced.measures["latency_p90_s"][2], 0.3)
                self.assertIn("due", paced.notes["latency_since"])
                # late requests are sent later
                self.assertTrue(900 <= paced.total() <= 1010, paced.total())


class Failures(WithScratch):
    def test_a_peer_that_is_killed(self):
        for workload, variant in WITH_PEERS:
            with self.subTest(workload=workload, variant=variant):
                process = self.start_in_window(workload, "--variant", variant, "--tasks", "2", "--window-ms", "20000")
                below = programs.descendants(process.pid)
                _guard, first, *_rest = sorted(programs.children(process.pid))
                os.kill(first, signal.SIGKILL)
                out, _ = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 71)
                kind, step, _number, text = out.splitlines()[-1].split(" ", 4)[1:]
                self.assertEqual(kind, "os", out)
                # Either the harness notices first, or the task in its call.
                self.assertIn(step, ["peer", "send", "recv", "connect", "splice"], text)
                self.assertAllGone(below)

    def test_killed_with_its_peers(self):
        for workload, variant in WITH_PEERS:
            with self.subTest(workload=workload, variant=variant):
                process = self.start_in_window(workload, "--variant", variant, "--tasks", "2", "--window-ms", "20000")
                below = programs.descendants(process.pid)
                self.assertEqual(len(below), 5)
                process.kill()
                self.assertAllGone(below)

    def test_a_peer_that_falls_silent(self):
        """A peer that lives but does nothing: buffers and pipes fill up, or no reply arrives. Each
        wait has a limit.
        """
        def silenced(case):
            workload, variant = case
            process = self.start_in_window(workload, "--variant", variant, "--window-ms", "40000")
            _guard, peer, _task = sorted(programs.children(process.pid))
            os.kill(peer, signal.SIGSTOP)
            out, _ = process.communicate(timeout=programs.TIME_LIMIT_S)
            return case, process.returncode, out.splitlines()[-1]

        with concurrent.futures.ThreadPoolExecutor(len(NOTICES_SILENCE)) as pool:
            for case, status, line in pool.map(silenced, NOTICES_SILENCE):
                with self.subTest(case):
                    self.assertEqual(status, 71)
                    self.assertRegex(line, rf"^failure os [a-z]+ {errno.ETIMEDOUT} the other end did not answer within 10 s$")

    def test_no_loopback_device(self):
        for workload in ["udp_send", "tcp_rr", "relay"]:
            result = in_namespace("", workload, "--ops", "10")
            if result is None:
                self.skipTest("this system allows no network namespace")
            self.assertEqual(result.returncode, 69, result.stderr)
            self.assertEqual(protocol.parse(result.stdout).failure,
                             ("unsupported", "connect", 0, "the loopback device is down: no route to 127.0.0.1"))

    def test_no_ipv6(self):
        script = "ip link set lo up; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
        for workload, variant in [("udp_send", "loop-ipv6"), ("udp_stream", "ipv6"), ("tcp_stream", "send-ipv6"), ("tcp_rr", "ipv6")]:
            if not pathlib.Path("/proc/sys/net/ipv6").exists():
                result = programs.run(workload, "--variant", variant)
            else:
                result = in_namespace(script, workload, "--variant", variant, "--ops", "10")
            if result is None:
                self.skipTest("this system allows no network namespace")
            self.assertEqual(result.returncode, 69, result.stderr)
            output = protocol.parse(result.stdout)
            self.assertEqual(output.failure[0], "unsupported")
            self.assertIn("no IPv6", output.failure[3])

    def test_a_link_that_goes_down(self):
        """No end notices at once; the wait for the reply ends at its limit."""
        if in_namespace("ip link set lo up", "tcp_rr", "--ops", "1") is None:
            self.skipTest("this system allows no network namespace")
        script = "ip link set lo up; (sleep 0.5; ip link set lo down) &"
        workloads = ["tcp_rr", "udp_rr"]
        with concurrent.futures.ThreadPoolExecutor(len(workloads)) as pool:
            results = pool.map(lambda workload: in_namespace(script, workload, "--window-ms", "30000"), workloads)
            for workload, result in zip(workloads, results):
                with self.subTest(workload):
                    self.assertEqual(result.returncode, 71, result.stdout[-300:])
                    self.assertRegex(result.stdout.splitlines()[-1], "^failure os (send|recv) ")


if __name__ == "__main__":
    unittest.main()
