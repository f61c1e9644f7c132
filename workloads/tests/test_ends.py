"""Executions with several ends: a receiver and a forwarder beside the measured one, all on this
system's loopback device.
"""

import concurrent.futures
import contextlib
import errno
import os
import pathlib
import signal
import socket
import time
import unittest

import programs
import protocol
from test_failures import WithScratch
from test_network import WITH_PEERS

PORT = 24719
# Each end has an address of its own. The loopback device has only one IPv6 address.
RECEIVER, FORWARDER = "127.0.1.1,::1", "127.0.1.2,::1"

WITH_ENDS = [("udp_send", "loop"), ("udp_send", "loop-ipv6"), ("udp_stream", "ipv6"), ("tcp_rr", "ipv6"), *WITH_PEERS]


def address(end, number):
    """Tests run concurrently, so each has addresses of its own."""
    return end.replace("127.0.1", f"127.0.{number}")


def start_partner(workload, role, at, *arguments, **keywords):
    """Starts a partner, and waits until it is ready."""
    process = programs.start(workload, *arguments, "--role", role, "--at", at, **keywords)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(("ready", "failure")):
            break
    return process, lines


def finish(process, lines=()):
    out, err = process.communicate(timeout=programs.TIME_LIMIT_S)
    return protocol.parse("".join(lines) + out), err


def udp_port(at):
    """Port of the only UDP socket at this address."""
    wanted = "".join(f"{byte:02X}" for byte in reversed(socket.inet_aton(at)))
    lines = pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]
    return next(int(port, 16) for address, port in (line.split()[1].split(":") for line in lines) if address == wanted)


def seconds(output):
    """Length of the region of interest, in seconds."""
    return (int(output.fields["end"]) - int(output.fields["begin"])) / 1e9


class Ends(WithScratch):
    def test_all_ends_count_over_the_same_time(self):
        for workload, variant in WITH_ENDS:
            with self.subTest(workload=workload, variant=variant):
                arguments = ("--variant", variant, "--tasks", "2", "--window-ms", "300")
                receiver = start_partner(workload, "receiver", address(RECEIVER, 1), *arguments)
                forwarder = start_partner(workload, "forwarder", address(FORWARDER, 1), *arguments)
                before = time.monotonic()
                measured, _ = finish(programs.start(workload, *arguments, "--far", f"receiver={address(RECEIVER, 1)}", "--far",
                                                    f"forwarder={address(FORWARDER, 1)}"))
                life = time.monotonic() - before
                outputs = {"measured": measured, "receiver": finish(*receiver)[0], "forwarder": finish(*forwarder)[0]}
                self.assertGreater(measured.total(), 0)
                # A partner's region encloses that of the measured execution. Partners were ready
                # before it began.
                own = seconds(measured)
                self.assertGreater(own, 0.29)
                for end, output in outputs.items():
                    self.assertTrue(output.done, end)
                    self.assertTrue(own <= seconds(output) < life, (end, own, seconds(output), life))
                    self.assertIn("dropped", output.measures)
                    self.assertIn("machine_cpus_busy", output.measures)
                self.assertIn("peers_cpus_busy", outputs["receiver"].measures)
                self.assertNotIn("peers_cpus_busy", outputs["forwarder"].measures)
                self.assertEqual(outputs["receiver"].total(), 0)

    def test_strangers_are_not_served(self):
        """A caller without a token, or with another one, is not served, and the peers answer only
        the measured end.
        """
        token = "0123456789abcdef" * 2
        environment = {**os.environ, "FAULTLINE_TOKEN": token}
        at = "127.0.8.1"
        receiver, lines = start_partner("tcp_rr", "receiver", at, env=environment)
        with contextlib.ExitStack() as stack:
            idle, stranger, slow, *more = [stack.enter_context(socket.create_connection((at, PORT))) for _ in range(8)]
            stranger.sendall(b"f" * 48)
            slow.sendall(b"0")
            measured, _ = finish(programs.start("tcp_rr", "--window-ms", "200", "--far", f"receiver={at}", env=environment))
            self.assertGreater(measured.total(), 0)
            self.assertTrue(finish(receiver, lines)[0].done)
            for one in (idle, stranger, *more):
                self.assertEqual(one.recv(1), b"")
            with contextlib.suppress(ConnectionResetError):  # part of its data was not read
                self.assertEqual(slow.recv(1), b"")

        receiver, lines = start_partner("tcp_rr", "receiver", at, env=environment)
        refused, _ = finish(programs.start("tcp_rr", "--far", f"receiver={at}"))
        self.assertEqual(refused.failure[1:3], ("control", errno.ECONNRESET))
        with socket.create_connection((at, PORT), source_address=("127.0.8.2", 0)) as measured:
            measured.sendall(token.encode() + bytes(10) + b"\xff\xff" + socket.inet_aton("127.0.8.3"))
            port = int.from_bytes(measured.recv(18, socket.MSG_WAITALL)[16:], "big")
            with socket.create_connection((at, port), source_address=("127.0.8.4", 0)) as stranger:
                self.assertEqual(stranger.recv(1), b"")
            # The address of its connection, and the one that it has named; the peer accepts one
            # connection and answers it.
            with socket.create_connection((at, port), source_address=("127.0.8.3", 0)) as task:
                task.sendall(bytes(64))
                self.assertEqual(len(task.recv(64, socket.MSG_WAITALL)), 64)
        receiver.terminate()
        receiver.communicate(timeout=30)

    def test_a_caller_that_says_one_byte_after_the_other_is_not_heard_for_ever(self):
        at = "127.0.9.1"
        receiver, _ = start_partner("tcp_rr", "receiver", at)
        with socket.create_connection((at, PORT)) as slow:
            begun = time.monotonic()
            with self.assertRaises(OSError):
                while time.monotonic() < begun + 20:
                    slow.sendall(b"0")
                    time.sleep(0.2)
            self.assertGreater(time.monotonic() - begun, 1.5)
        with socket.create_connection((at, PORT)):
            receiver.terminate()
            receiver.communicate(timeout=5)

    def test_packets_of_strangers_are_not_counted(self):
        at = "127.0.9.2"
        receiver = start_partner("udp_stream", "receiver", at)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind(("127.0.9.3", 0))
            measured = programs.start("udp_stream", "--window-ms", "1000", "--far", f"receiver={at}")
            port = udp_port(at)
            sent = 0
            while measured.poll() is None:
                for _ in range(1000):
                    with contextlib.suppress(OSError):
                        sent += stranger.sendto(bytes(10), (at, port)) == 10
        measured, _ = finish(measured)
        self.assertTrue(finish(*receiver)[0].done)
        arrived = measured.measures["received"][2] * seconds(measured)
        self.assertGreater(sent, 1000)
        self.assertLessEqual(arrived, measured.total() * 1.01)

    def test_nobody_listens_beyond_loopback_without_a_token(self):
        for at, environment, words in [("198.18.0.1", {}, "there is no FAULTLINE_TOKEN"), ("127.0.8.1,2001:2::1", {}, "there is no FAULTLINE_TOKEN"),
                                       ("127.0.8.1", {"FAULTLINE_TOKEN": "secret"}, "bad value of FAULTLINE_TOKEN")]:
            result = programs.run("udp_rr", "--role", "receiver", "--at", at, env={**os.environ, **environment})
            self.assertEqual((result.returncode, result.stdout), (64, ""), at)
            self.assertIn(words, result.stderr)

    def test_what_arrives_is_what_the_receiver_counts(self):
        receiver = start_partner("udp_stream", "receiver", address(RECEIVER, 2))
        measured, _ = finish(programs.start("udp_stream", "--window-ms", "500", "--far", f"receiver={address(RECEIVER, 2)}"))
        self.assertTrue(finish(*receiver)[0].done)
        sent, received, lost = measured.total() / seconds(measured), measured.measures["received"][2], measured.measures["lost_ratio"][2]
        self.assertGreater(received, 0)
        self.assertLess(abs(received - sent * (1 - lost)), 0.1 * sent)

    def test_one_window_for_operations_too(self):
        receiver = start_partner("tcp_rr", "receiver", address(RECEIVER, 3))
        measured, _ = finish(programs.start("tcp_rr", "--ops", "500", "--far", f"receiver={address(RECEIVER, 3)}"))
        self.assertEqual(measured.total(), 500)
        self.assertTrue(finish(*receiver)[0].done)

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.4.1", PORT)):
            process, lines = start_partner("tcp_rr", "receiver", address(RECEIVER, 4))
            output, _ = finish(process, lines)
        self.assertEqual(output.failure, ("os", "bind", errno.EADDRINUSE, f"port {PORT}: {os.strerror(errno.EADDRINUSE)}"))
        self.assertEqual(process.returncode, 71)

    def test_no_partner_and_no_such_network(self):
        result = programs.run("tcp_rr", "--far", f"receiver={address(RECEIVER, 5)}")
        self.assertEqual(result.returncode, 71)
        self.assertEqual(protocol.parse(result.stdout).failure[1:3], ("control", errno.ECONNREFUSED))
        result = programs.run("tcp_rr", "--variant", "ipv6", "--far", "receiver=127.0.5.1")
        self.assertEqual(result.returncode, 69)
        self.assertIn("no IPv6", protocol.parse(result.stdout).failure[3])

    def test_another_program_on_the_port(self):
        """The program on the port sends no greeting, or nothing."""
        with socket.create_server(("127.0.6.1", PORT)) as server:
            process = programs.start("tcp_rr", "--far", f"receiver={address(RECEIVER, 6)}")
            connection, _ = server.accept()
            connection.sendall(b"220 mail.example ESMTP")
            output, _ = finish(process)
            connection.close()
            self.assertEqual(output.failure[1:3], ("control", errno.EPROTO))
            process = programs.start("tcp_rr", "--far", f"receiver={address(RECEIVER, 6)}")
            connection, _ = server.accept()
            output, _ = finish(process)
            connection.close()
            self.assertEqual(output.failure[1:], ("control", errno.ETIMEDOUT, "the receiver did not answer within 10 s"))

    def test_a_receiver_that_is_killed_or_falls_silent(self):
        """Connections end; full pipes and buffers, and unanswered requests, have a time limit."""
        def ended(number, case, how):
            workload, variant = case
            at = f"127.0.{number}.1,::1"
            receiver, _ = start_partner(workload, "receiver", at, "--variant", variant)
            below = programs.descendants(receiver.pid)
            measured = self.start_in_window(workload, "--variant", variant, "--window-ms", "30000" if how == signal.SIGKILL else "3000",
                                            "--far", f"receiver={at}")
            for pid in [receiver.pid, *below]:
                os.kill(pid, how)
            out, _ = measured.communicate(timeout=programs.TIME_LIMIT_S)
            receiver.kill()
            receiver.communicate(timeout=programs.TIME_LIMIT_S)
            if how == signal.SIGSTOP:
                # The kernel continues a stopped group whose session has no parent left, but not in
                # a PID namespace whose first process is in that session.
                for pid in below:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            return measured.returncode, out.splitlines()[-1], below

        cases = [("tcp_stream", "send"), ("tcp_rr", "ipv4"), ("relay", "splice"), ("udp_stream", "ipv4")]
        jobs = [(case, signal.SIGKILL) for case in cases if case[0] != "udp_stream"] + [(case, signal.SIGSTOP) for case in cases]
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            running = [(job, pool.submit(ended, 10 + number, *job)) for number, job in enumerate(jobs)]
            for (case, how), result in running:
                with self.subTest(case, how=how):
                    status, line, below = result.result()
                    self.assertEqual(status, 71, line)
                    self.assertRegex(line, "^failure os (send|recv|splice|control) ")
                    if how == signal.SIGSTOP:
                        self.assertRegex(line, f" {errno.ETIMEDOUT} ")
                    self.assertAllGone(below)

    def test_a_measured_end_that_is_gone_leaves_its_partner_to_whoever_started_it(self):
        receiver, _ = start_partner("tcp_rr", "receiver", address(RECEIVER, 7))
        measured = self.start_in_window("tcp_rr", "--window-ms", "30000", "--far", f"receiver={address(RECEIVER, 7)}")
        measured.kill()
        measured.communicate(timeout=30)
        self.assertIsNone(receiver.poll())
        below = programs.descendants(receiver.pid)
        receiver.terminate()
        receiver.communicate(timeout=30)
        self.assertAllGone(below)

    def test_bad_arguments(self):
        for workload, arguments in [("tcp_rr", ["--role", "sender"]), ("tcp_rr", ["--at", "localhost"]), ("tcp_rr", ["--far", "1.2.3.4"]),
                                    ("tcp_rr", ["--far", "sender=1.2.3.4"]), ("tcp_rr", ["--far", "receiver="]),
                                    ("zero_fill", ["--role", "receiver"])]:
            result = programs.run(workload, *arguments)
            self.assertEqual((result.returncode, result.stdout), (64, ""), arguments)
            self.assertEqual(len(result.stderr.splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
