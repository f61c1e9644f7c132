#!/usr/bin/env python3
"""Our loops beside iperf3, tcpbench and fio: the same pattern on the same CPU, in pairs directly
after one another, in random order.

usage: beside.py DIRECTORY_OF_WORKLOADS [PAIRS [SEED]]

The figure is bytes per second, ours divided by theirs: the median of the pairs' ratios with its
interval (order statistics, at least 95 %). A row says "within 5 %" only if the whole interval
is, and "inconclusive" if the interval reaches across that limit: a busy machine shows nothing. A
row further from the peer names known differences between the two sides, which are not proven to
be the cause. The exit status is 0 unless a side fails.

The second figure is the same ratio for the kernel alone: bytes per second of the CPU time spent
in the kernel. If it is near 1 and the first is not, the programs' own work makes the difference.

iperf3 serves on 127.0.0.1, or at one end of a chain of network namespaces with a router, one
test at a time. tcpbench, whose server listens at all addresses, runs only in the chain. fio's
files are in a temporary directory. Without the right to create namespaces, the rows of the chain
are left out with a message.
"""

import contextlib
import json
import math
import os
import pathlib
import random
import resource
import secrets
import subprocess
import sys
import tempfile
import time

import namespaces

LIMIT_S = 60
SECONDS = 2
CPU = min(os.sched_getaffinity(0))
PORT = 15201


def on_cpu(words):
    return ["taskset", "-c", str(CPU), *map(str, words)]


def output(words):
    result = subprocess.run(on_cpu(words), capture_output=True, text=True, timeout=LIMIT_S)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {result.returncode}: {result.stderr or result.stdout[-500:]}")
    return result.stdout


def ours(build, workload, variant, tasks, *options, scratch):
    """Bytes per second of all tasks; for udp_stream those that arrived."""
    return rate_of(output(words_of(build, workload, variant, tasks, *options, scratch=scratch)))


def words_of(build, workload, variant, tasks, *options, scratch):
    return [build / workload, "--variant", variant, "--tasks", tasks, "--pin", CPU, "--warmup-ms", 1000, "--window-ms", SECONDS * 1000,
            "--scratch", scratch, *options]


def ours_through(chain, *what, scratch):
    """Bytes per second from the first end of the chain to the last."""
    words = words_of(*what, scratch=scratch)
    at = namespaces.LAST
    os.environ["FAULTLINE_TOKEN"] = secrets.token_hex(16)
    receiver = subprocess.Popen(chain.inside(2, *on_cpu([*words, "--role", "receiver", "--at", at])), stdout=subprocess.PIPE, text=True)
    try:
        for line in receiver.stdout:
            if line.startswith("ready"):
                break
        return rate_of(output(chain.inside(0, *words, "--far", f"receiver={at}")))
    finally:
        receiver.kill()
        receiver.communicate()


def rate_of(text):
    lines = [line.split() for line in text.splitlines()]
    bytes_ = next(int(words[1]) for words in lines if words[0] == "bytes_per_operation")
    arrived = [float(words[4]) for words in lines if words[:2] == ["measure", "received"]]
    if arrived:
        return arrived[0] * bytes_
    intervals = [list(map(int, words[1:])) for words in lines if words[0] == "interval"]
    return bytes_ * sum(sum(words[2:]) for words in intervals) / (intervals[-1][1] - intervals[0][0]) * 1e9


def iperf3(*options, chain=None):
    """Received bytes per second of all streams; over the loopback device, or from the first end of
    a chain to the last.
    """
    def at(end, *words):
        return words if chain is None else chain.inside(end, *words)

    address = "127.0.0.1" if chain is None else namespaces.LAST
    server = subprocess.Popen(on_cpu(at(2, "iperf3", "-s", "-1", "-B", address, "-p", PORT, "--forceflush")),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for line in server.stdout:  # until it listens
            if "listening" in line:
                break
        text = output(at(0, "iperf3", "-c", address, "-p", PORT, "-t", SECONDS, "-O", 1, "-J", *options))
        return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 8
    finally:
        server.kill()
        server.wait()


TCPBENCH_BYTES = 256 * 1024


def tcpbench(connections, chain):
    """Sent bytes per second over all connections from the first end of a chain to the last, without
    the first second.
    """
    server = subprocess.Popen(on_cpu(chain.inside(2, "tcpbench", "-s", "-4", "-p", PORT, "-r", 0)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + LIMIT_S
        while f":{PORT} " not in output(chain.inside(2, "ss", "-Hlnt")):
            if server.poll() is not None or time.monotonic() > until:
                sys.exit("tcpbench does not listen")
        text = output(chain.inside(0, "tcpbench", "-n", connections, "-t", SECONDS + 1, "-r", 1000, "-p", PORT, namespaces.LAST))
        rates = [float(line.split()[3]) for line in text.splitlines() if line.startswith("Conn:")][1:]
        if not rates:
            sys.exit(f"tcpbench said too little: {text[-500:]}")
        return sum(rates) / len(rates) * 1e6 / 8
    finally:
        server.kill()
        server.wait()


# With --time_based, fio rewrites the same file, whose pages are already cached.
NEW_FILES = "--loops=1000000"


def fio(kind, block, *options, scratch):
    """Bytes per second of all jobs."""
    text = output(["fio", "--name=beside", f"--directory={scratch}", f"--rw={kind}", f"--bs={block}", "--size=16m", "--ioengine=sync",
                   f"--runtime={SECONDS}", "--thread", "--output-format=json", *options])
    # fio may print notes before its JSON.
    return sum(job[kind]["bw_bytes"] for job in json.loads(text[text.index("{"):])["jobs"])


def interval(values):
    """Median, and the narrowest symmetric pair of order statistics that contains the true one with
    at least 95 % probability, or the extremes.
    """
    values = sorted(values)
    n = len(values)
    median = (values[(n - 1) // 2] + values[n // 2]) / 2
    low = max((k for k in range(n // 2) if 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n >= 0.95), default=0)
    return median, values[low], values[n - 1 - low]


def kernel_share(measure):
    """The result of `measure`, and the kernel's share of the CPU time of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = measure()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    kernel, own = after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime
    return rate, kernel / (kernel + own)


UDP_DIFFERENCE = "iperf3 reads the clock, waits by select and fills in a header for each packet; ours only sends"
FLOWS_DIFFERENCE = "iperf3 has all flows in one process and waits by select; ours has a process for each, which waits in send"


def rows_through(chain, build, scratch):
    """As above, through a router."""
    def net(*what):
        return lambda: ours_through(chain, build, *what, scratch=scratch)

    for flows in (1, 4):
        yield (f"tcp_stream:send, {flows} flows, routed", net("tcp_stream", "send", flows), lambda flows=flows: iperf3("-P", flows, chain=chain),
               FLOWS_DIFFERENCE)
    for flows in (1, 4):
        yield (f"tcp_stream:send of 256 KiB, {flows} flows, routed", net("tcp_stream", "send", flows, "--size", TCPBENCH_BYTES),
               lambda flows=flows: tcpbench(flows, chain), "tcpbench has all connections in one process, and waits by poll or its like for each block")
    yield ("udp_stream:ipv4 of 1400 B, routed", net("udp_stream", "ipv4", 1), lambda: iperf3("-u", "-b", 0, "-l", 1400, chain=chain), UDP_DIFFERENCE)


def rows(build, scratch):
    """Name, the two sides, and their known differences."""
    def net(workload, variant, tasks, *options):
        return lambda: ours(build, workload, variant, tasks, *options, scratch=scratch)

    def files(workload, block):
        return lambda: ours(build, workload, "own", 1, "--size", block, scratch=scratch)

    for flows in (1, 2, 4):
        yield (f"tcp_stream:send, {flows} flows", net("tcp_stream", "send", flows), lambda flows=flows: iperf3("-P", flows),
               FLOWS_DIFFERENCE)
    yield ("tcp_stream:receive, 1 flow", net("tcp_stream", "receive", 1), lambda: iperf3("-R"), "iperf3 waits by select before it receives")
    yield ("tcp_stream:send of 1400 B", net("tcp_stream", "send", 1, "--size", 1400), lambda: iperf3("-l", 1400), "iperf3 waits by select and reads the clock for each block")
    yield ("udp_stream:ipv4 of 1400 B", net("udp_stream", "ipv4", 1), lambda: iperf3("-u", "-b", 0, "-l", 1400),
           UDP_DIFFERENCE)
    for kib in (4, 256):
        block = kib * 1024
        yield (f"file_append:own of {kib} KiB", files("file_append", block),
               lambda block=block: fio("write", block, NEW_FILES, "--create_on_open=1", "--unlink_each_loop=1", "--fallocate=none", scratch=scratch),
               "fio reads the clock twice for each operation, keeps histograms, and makes a new file where ours is cut")
        yield (f"file_read:own of {kib} KiB", files("file_read", block), lambda block=block: fio("read", block, "--time_based", "--ramp_time=1", "--invalidate=0", scratch=scratch),
               "fio reads the clock twice for each operation and keeps histograms")


def all_rows(build, scratch, stack):
    yield from rows(build, scratch)
    try:
        chain = stack.enter_context(contextlib.closing(namespaces.Chain()))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no rows through a router: {error}", flush=True)
        return
    yield from rows_through(chain, build, scratch)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    if pairs < 6:
        print("too few pairs for an interval of 95 %\nhint: give 6 or more", file=sys.stderr)
        sys.exit(64)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    order = random.Random(seed)
    print(f"seed {seed}; {pairs} pairs; bytes per second, and per second of the kernel, ours by theirs, on CPU {CPU}")
    with tempfile.TemporaryDirectory(prefix="faultline-beside-") as scratch, contextlib.ExitStack() as stack:
        for name, our_side, their_side, difference in all_rows(build, scratch, stack):
            ratios, kernel, theirs = [], [], []
            for _ in range(pairs):
                sides = [("ours", our_side), ("theirs", their_side)]
                order.shuffle(sides)
                measured = {side: kernel_share(measure) for side, measure in sides}
                (own, own_share), (other, other_share) = measured["ours"], measured["theirs"]
                ratios.append(own / other)
                kernel.append(own / own_share / (other / other_share))
                theirs.append(other)
            median, low, high = interval(ratios)
            verdict = "inconclusive"
            if 0.95 <= low and high <= 1.05:
                verdict = "within 5 %"
            elif low > 1.05 or high < 0.95:
                verdict = f"further than 5 %: {difference}"
            print(f"{name:44} {sorted(theirs)[pairs // 2] / 1e6:10.1f} MB/s  {median:6.3f} ({low:.3f} to {high:.3f})  "
                  f"kernel {'{:.3f} ({:.3f} to {:.3f})'.format(*interval(kernel))}  {verdict}",
                  flush=True)


if __name__ == "__main__":
    main()
