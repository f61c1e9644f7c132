/* See channel.h. */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

enum { HEADER_BYTES = 64 };

static const char format_and_version[] = "faultline-guest 1";

static int port = -1;

void channel_open(void)
{
    port = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios line;
    if (port < 0 || tcgetattr(port, &line) != 0) {
        fprintf(stderr, "faultline: no second serial port: %s\n", strerror(errno));
        exit(EXIT_FAILURE);
    }
    cfmakeraw(&line); /* pass bytes through: no carriage returns, no control characters */
    cfsetspeed(&line, B115200);
    tcsetattr(port, TCSANOW, &line);
    channel_print("hello", "%s", format_and_version);
}

bool channel_take_output(void)
{
    port = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (port < 0)
        return false;
    channel_print("hello", "%s", format_and_version);
    return true;
}

static void write_whole(struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t written = writev(port, parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return; /* the port is gone; the reader sees an incomplete frame */
        while (count > 0 && (size_t)written >= parts->iov_len) {
            written -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
}

void channel_send(const char *kind, const void *text, size_t length)
{
    char header[HEADER_BYTES];
    int bytes = snprintf(header, sizeof header, "%s %zu ", kind, length);
    struct iovec parts[] = {
        {.iov_base = header, .iov_len = (size_t)bytes},
        {.iov_base = (void *)text, .iov_len = length},
        {.iov_base = (void *)"\n", .iov_len = 1},
    };
    write_whole(parts, 3);
}

void channel_print(const char *kind, const char *format, ...)
{
    char text[CHANNEL_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t length = bytes < 0 ? 0 : (size_t)bytes;
    channel_send(kind, text, length < sizeof text ? length : sizeof text - 1);
}

void channel_failed(const char *step, int error)
{
    channel_print("failed", "%s: %s", step, strerror(error));
}

void channel_break_line(void)
{
    struct iovec end = {.iov_base = (void *)"\n", .iov_len = 1};
    write_whole(&end, 1);
}

void channel_drain(void)
{
    tcdrain(port);
}
