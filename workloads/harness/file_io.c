/* See file_io.h. */
#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 65536 };

/* Closes a file after an error, and keeps the error's errno. */
static int close_failed(int file)
{
    int error = errno;
    if (file >= 0)
        close(file);
    errno = error;
    return -1;
}

int file_write(int file, const void *data, size_t bytes)
{
    const char *rest = data;
    while (bytes > 0) {
        ssize_t n = write(file, rest, bytes);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            rest += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

int file_fill(int file, size_t bytes)
{
    static const char pattern[BLOCK_BYTES] = {[0] = 'F', [4096] = 'F', [8192] = 'F', [16384] = 'F', [32768] = 'F'};
    while (bytes > 0) {
        size_t part = bytes < sizeof pattern ? bytes : sizeof pattern;
        if (file_write(file, pattern, part) != 0)
            return -1;
        bytes -= part;
    }
    return 0;
}

int file_make(const char *path, const void *data, size_t bytes)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || file_write(file, data, bytes) != 0)
        return close_failed(file);
    return close(file);
}

static int copy_data(int from, int to)
{
    char block[BLOCK_BYTES];
    for (;;) {
        ssize_t n = read(from, block, sizeof block);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write(to, block, (size_t)n) != 0)
            return -1;
    }
}

int file_copy(const char *from, const char *to, mode_t mode)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return -1;
    int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target < 0)
        return close_failed(source);
    if (copy_data(source, target) != 0 || fchmod(target, mode) != 0) {
        close_failed(target);
        return close_failed(source);
    }
    close(source);
    /* Some file systems write later, and report errors only here. */
    return close(target);
}
