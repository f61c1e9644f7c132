/* See symbols.h. */
#include "symbols.h"

#if defined(__linux__)

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Writes a symbol's word and a blank; returns its length. */
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

#endif
