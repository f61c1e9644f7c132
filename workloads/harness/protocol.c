/* See protocol.h. */
#include "protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ending.h"
#include "failure.h"

enum { LINE_BYTES = 65536 };

static char line[LINE_BYTES];

static void write_line(size_t length)
{
    if (length > LINE_BYTES - 1)
        length = LINE_BYTES - 1;
    for (size_t i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
    line[length++] = '\n';

    for (size_t written = 0; written < length;) {
        ssize_t n = write(STDOUT_FILENO, line + written, length - written);
        if (n >= 0) {
            written += (size_t)n;
        } else if (errno != EINTR) {
            fprintf(stderr, "cannot write to standard output: %s\n", strerror(errno));
            ending_exit(EXIT_SYSTEM_CALL);
        }
    }
}

void protocol_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    write_line(length < 0 ? 0 : (size_t)length);
}

void protocol_interval(const char *keyword, uint64_t from_ns, uint64_t to_ns, const uint64_t *operations, size_t tasks)
{
    size_t length = (size_t)snprintf(line, sizeof line, "%s %" PRIu64 " %" PRIu64, keyword, from_ns, to_ns);
    /*
     * 21 bytes hold a space and any number. The limit on tasks keeps real lines far below the
     * maximum.
     */
    for (size_t i = 0; i < tasks && length + 22 < sizeof line; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, " %" PRIu64, operations[i]);
    write_line(length);
}
