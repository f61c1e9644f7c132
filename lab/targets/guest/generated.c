/* See generated.h. */
#include "generated.h"

#if defined(__linux__)

#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"

enum { LONGEST_LINE_BYTES = 4096, LONGEST_TEXT_BYTES = LONGEST_LINE_BYTES + 64 };

#define PREFIX "/tmp/perf-"

/* A line: the address and the bytes of a function in hexadecimal, then its name. */
static void send_line(unsigned long process, char *line)
{
    char text[LONGEST_TEXT_BYTES], *after, *name;
    uint64_t address = strtoull(line, &after, 16);
    uint64_t length = strtoull(after, &name, 16);
    if (after == line || name == after || length == 0 || name[0] != ' ' || name[1] == '\0')
        return;
    int bytes = snprintf(text, sizeof text, "%lu %" PRIx64 " %" PRIx64 " %s", process, address, length, name + 1);
    if (bytes > 0 && bytes < (int)sizeof text)
        channel_send("generated", text, (size_t)bytes);
}

/* A line without its end was not written in whole, or is too long. */
static void send_file(unsigned long process, FILE *file)
{
    char line[LONGEST_LINE_BYTES];
    bool is_rest = false;
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        if (end != NULL && !is_rest)
            send_line(process, line);
        is_rest = end == NULL;
    }
}

void generated_send(void)
{
    glob_t found;
    if (glob(PREFIX "*.map", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *after;
        unsigned long process = strtoul(found.gl_pathv[i] + strlen(PREFIX), &after, 10);
        FILE *file = strcmp(after, ".map") == 0 ? fopen(found.gl_pathv[i], "re") : NULL;
        if (file == NULL)
            continue;
        send_file(process, file);
        fclose(file);
    }
    globfree(&found);
}

#endif
