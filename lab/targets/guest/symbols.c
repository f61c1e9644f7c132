/* See symbols.h. */
#include "symbols.h"

#if defined(__linux__)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

enum {
    FRAME_BYTES = 32768,
    NAME_BYTES = 512, /* KSYM_NAME_LEN, the longest of any kernel so far */
    WORD_BYTES = NAME_BYTES + 32,
    MOST_IN_COMMON = 'Z' - 'A',
};

struct symbol {
    char kind;
    uint64_t address;
    char name[NAME_BYTES];
};

static size_t in_common(const char *before, const char *name)
{
    size_t count = 0;
    while (count < MOST_IN_COMMON && name[count] != '\0' && name[count] == before[count])
        count++;
    return count;
}

/* Writes a symbol's word and a blank. Returns their length. */
static size_t put_word(char *word, const struct symbol *symbol, const struct symbol *before)
{
    bool lower = symbol->address < before->address;
    uint64_t difference = lower ? before->address - symbol->address : symbol->address - before->address;
    size_t common = in_common(before->name, symbol->name);
    int length = snprintf(word, WORD_BYTES, "%c%s%" PRIx64 "%c%s ", symbol->kind, lower ? "-" : "", difference,
                          (char)('A' + common), symbol->name + common);
    return (size_t)length;
}

void symbols_send(void)
{
    static char frame[FRAME_BYTES];
    static struct symbol symbols[2];
    struct symbol *symbol = &symbols[0];
    struct symbol *before = &symbols[1];
    size_t used = 0;
    FILE *file = fopen("/proc/kallsyms", "re");
    if (file == NULL) {
        channel_failed("/proc/kallsyms", errno);
        return;
    }
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0) {
        if (sscanf(line, "%" SCNx64 " %c %511s", &symbol->address, &symbol->kind, symbol->name) != 3)
            continue;
        if (used + WORD_BYTES > sizeof frame) {
            channel_send("symbols", frame, used);
            used = 0;
        }
        used += put_word(frame + used, symbol, before);
        struct symbol *spare = before;
        before = symbol;
        symbol = spare;
    }
    channel_send("symbols", frame, used);
    free(line);
    fclose(file);
}

/* Offset in the file of the `bytes` at `address`; -1 if the file lacks them. */
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
