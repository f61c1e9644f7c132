"""Kernels of several ages in one table: zero-fill faults by threads of one process, and the
transfers of the address space's locks.

Usage: kernels.py FAULTLINE DATABASE IMAGE…

FAULTLINE is the built command, and each IMAGE a kernel (packages/kernels.sh unpacks the
distribution's). DATABASE keeps the runs: existing ones are not repeated, an interrupted one
continues. Prints a table of all transfers (the median over five seeds with minimum and maximum),
and for each kernel those of the locks, for the seed with the median.

Until Linux 6.4 each fault takes the lock of the whole address space for reading
(`mm_struct.mmap_lock`). Since then it takes that of the touched mapping (`vma_lock.lock`, since
6.15 `vm_area_struct.vm_refcnt`). Each thread touches memory of its own, but the kernel merges
neighbouring mappings, and their threads share the lock.
"""

import sys

from counting import Runs, figure, transfers

WORKLOAD = "zero_fill:base"
CPUS = (1, 2, 4, 8, 16)
SEEDS = "5"
# Pages touched by each thread.
OPERATIONS = "1024"


# Locks as types with prefixes of members: that of the address space, and those of a mapping.
ADDRESS_SPACE = {"mm_struct": ("mmap_lock",)}
MAPPING = {"vma_lock": ("lock",), "vm_area_struct": ("vm_lock", "vm_refcnt")}


def counted(runs, image):
    """The label of the run with this kernel."""
    name = f"threads under {image}"
    options = ["--mode", "thread", "--tasks", ",".join(map(str, CPUS)), "--ops", OPERATIONS, "--repeats", SEEDS]
    return runs.kernel(name, [WORKLOAD, *options, "--kernel", image])


def release(image):
    """Release of a kernel's image, from its header (Documentation/arch/x86/boot.rst)."""
    with open(image, "rb") as file:
        head = file.read(0x10000)
    at = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    return head[at : head.index(b"\0", at)].split()[0].decode()


def of_locks(types, locks):
    """Transfers per page by accesses to these members; None if nothing was counted."""
    if types is None:
        return None
    members = (
        (row["path"], row["moved"]["transfers"], locks[of["name"]])
        for of in types
        if of["name"] in locks
        for line in of["lines"]
        for row in line["rows"]
    )
    return sum(moved for path, moved, beginnings in members if path.startswith(beginnings))


def types_at(runs, label, cpus):
    """All types with their layouts; None if nothing was counted."""
    cells = [cell["types"] for cell in runs.types(label, cpus) if cell["cpus"] == cpus]
    return cells[0]["types"] if cells and cells[0] else None


def over_seeds(point):
    """The median with minimum and maximum, if they differ."""
    low, high = (figure(limit(point["repeats"], default=None)) for limit in (min, max))
    return figure(transfers(point)) + (f" ({low} … {high})" if low != high else "")


def row(what, cells):
    print(f"| {what} | " + " | ".join(cells) + " |")


def main():
    runs = Runs(*sys.argv[1:3])
    print("| transfers per page at … CPUs | " + " | ".join(map(str, CPUS)) + " |")
    print("|---" + "|---:" * len(CPUS) + "|")
    for image in sys.argv[3:]:
        label = counted(runs, image)
        points = runs.points(label)
        types = [types_at(runs, label, cpus) for cpus in CPUS]
        row(f"**{release(image)}**", (over_seeds(points[WORKLOAD, cpus]) for cpus in CPUS))
        row("`mm_struct.mmap_lock`", (figure(of_locks(all_types, ADDRESS_SPACE)) for all_types in types))
        row("a mapping's own lock", (figure(of_locks(all_types, MAPPING)) for all_types in types))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
