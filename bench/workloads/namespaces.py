"""Three network namespaces with a router in the middle, held by processes that die with us, so that
nothing is left behind.

They resemble the chain in the lab (lab/targets/src/network), but for IPv4 only: like the
workloads, their benchmarks use nothing of the lab.
"""

import pathlib
import subprocess
import time

HELD_S = 7200
FIRST, LAST = "198.18.0.1", "198.18.1.2"


class Chain:
    """Ends 0, 1 and 2; end 1 forwards. Raises OSError or subprocess.CalledProcessError if
    namespaces are not available.
    """

    def __init__(self):
        self.holders = []
        try:
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self):
        own = pathlib.Path("/proc/self/ns/net").readlink()
        for _ in range(3):
            holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--net", "sleep", str(HELD_S)])
            self.holders.append(holder)
            until = time.monotonic() + 10
            while self.namespace(holder).readlink() == own:
                if holder.poll() is not None or time.monotonic() > until:
                    raise OSError("this user may not make network namespaces")
                time.sleep(0.01)
        for link in (0, 1):
            # With equal numbers, the kernel takes a second to notice that the link is up.
            self.ip(link, f"link add on index {100 + link} type veth peer name back index {300 + link} netns {self.holders[link + 1].pid}")
            for end, device, number in ((link, "on", 1), (link + 1, "back", 2)):
                self.ip(end, f"addr add 198.18.{link}.{number}/24 dev {device}")
                self.ip(end, f"link set {device} up")
        self.ip(0, "route add 198.18.1.0/24 via 198.18.0.2")
        self.ip(2, "route add 198.18.0.0/24 via 198.18.1.1")
        subprocess.run(self.inside(1, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"), check=True)

    @staticmethod
    def namespace(holder):
        return pathlib.Path(f"/proc/{holder.pid}/ns/net")

    def inside(self, end, *words):
        """Words of a command that runs in this end."""
        return ["nsenter", f"--net={self.namespace(self.holders[end])}", *map(str, words)]

    def ip(self, end, words):
        subprocess.run(self.inside(end, "ip", *words.split()), check=True)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
