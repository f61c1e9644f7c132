/* See requests.h. */
#include "requests.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

enum {
    IDLE_MS = 3600 * 1000, /* a reader does not notice a connection that broke silently */
    HEADER_BYTES = REQUEST_KIND_BYTES + REQUEST_REST_BYTES + 32,
    MOST_BYTES = 256 << 20,
};

/* False at the end of the input, or after the limit. */
static bool read_some(char *bytes, size_t room, size_t *got)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        int ready = poll(&input, 1, IDLE_MS);
        if (ready == 0)
            return false;
        ssize_t count = ready < 0 ? -1 : read(STDIN_FILENO, bytes, room);
        if (count < 0 && errno == EINTR)
            continue;
        *got = count > 0 ? (size_t)count : 0;
        return count > 0;
    }
}

/* A line without its end, read byte by byte: the bytes after it belong to other code. */
static bool read_line(char line[HEADER_BYTES])
{
    for (size_t length = 0, got; length < HEADER_BYTES; length++) {
        if (!read_some(line + length, 1, &got))
            return false;
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    line[HEADER_BYTES - 1] = '\0';
    return true;
}

static bool refuse(const char *line)
{
    channel_print("failed", "not a request: '%.100s'", line);
    return false;
}

bool request_read(struct request *request)
{
    char line[HEADER_BYTES];
    unsigned long length;
    int rest = 0;
    if (!read_line(line))
        return false;
    if (sscanf(line, "%15s %lu %n", request->kind, &length, &rest) != 2 || rest == 0 || length > MOST_BYTES ||
        strlen(line + rest) >= sizeof request->rest)
        return refuse(line);
    strcpy(request->rest, line + rest);
    request->length = length;
    request->bytes = malloc(length + 1);
    if (request->bytes == NULL) {
        channel_failed("a request", errno);
        return false;
    }
    for (size_t at = 0, got; at < length; at += got)
        if (!read_some(request->bytes + at, length - at, &got)) {
            free(request->bytes);
            return false;
        }
    request->bytes[length] = '\0';
    return true;
}
