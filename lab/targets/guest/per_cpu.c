/* See per_cpu.h. */
#include "per_cpu.h"

#if defined(__linux__)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

/* Where in the file `bytes` at `address` are; -1 where it does not have them. */
static off_t place(int core, uint64_t address, uint64_t bytes)
{
    Elf64_Ehdr header;
    if (pread(core, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return -1;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(header.e_phoff + (uint64_t)i * header.e_phentsize);
        if (pread(core, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            return -1;
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr + bytes <= segment.p_memsz)
            return (off_t)(segment.p_offset + (address - segment.p_vaddr));
    }
    return -1;
}

void per_cpu_send(char **words)
{
    uint64_t address = strtoull(words[0], NULL, 16);
    size_t cpus = strtoul(words[1], NULL, 10);
    int core = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
    if (core < 0) {
        channel_print("no-per-cpu", "/proc/kcore: %s", strerror(errno));
        return;
    }
    off_t at = place(core, address, cpus * sizeof(uint64_t));
    if (at < 0)
        channel_print("no-per-cpu", "/proc/kcore does not hold address %" PRIx64, address);
    for (size_t cpu = 0; at >= 0 && cpu < cpus; cpu++) {
        uint64_t offset;
        if (pread(core, &offset, sizeof offset, at + (off_t)(cpu * sizeof offset)) != (ssize_t)sizeof offset) {
            channel_print("no-per-cpu", "/proc/kcore: %s", strerror(errno));
            break;
        }
        channel_print("per-cpu", "%" PRIx64, offset);
    }
    close(core);
}

#endif
