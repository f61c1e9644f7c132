/*
 * The program that execs itself: counts, publishes the count, execs itself again. Not meant to be
 * run by hand.
 *
 * argv: own path, descriptor of the record, count so far, count to stop at (0: never). Numbers are
 * converted here rather than by the C library, so that the program is as small as possible.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "self_exec_record.h"

enum { DIGITS = 20, EXIT_FAILED = 71 };

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

/* Writes the digits at the end of the buffer. Returns where they begin. */
static char *digits(uint64_t value, char buffer[DIGITS + 1])
{
    char *digit = buffer + DIGITS;
    *digit = '\0';
    do {
        *--digit = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return digit;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        _exit(64);
    int record = (int)number(argv[1]);
    uint64_t count = number(argv[2]) + 1;
    uint64_t stop = number(argv[3]);
    if (pwrite(record, &count, sizeof count, offsetof(struct self_exec_record, count)) != (ssize_t)sizeof count)
        _exit(EXIT_FAILED);
    if (count == stop)
        _exit(0);

    char text[DIGITS + 1];
    char *next[] = {argv[0], argv[1], digits(count, text), argv[3], NULL};
    execv(argv[0], next);
    uint64_t error = (uint64_t)errno;
    if (pwrite(record, &error, sizeof error, offsetof(struct self_exec_record, error)) != (ssize_t)sizeof error)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}
