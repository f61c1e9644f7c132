// SPDX-License-Identifier: GPL-2.0-or-later
/* endings fork|exec|crash|abort|forever|unmarked|twice: programs that end in unusual ways. */
#include "faultline_mark.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long word;

static void work(void)
{
    for (int i = 0; i < 10000; i++)
        word++;
}

static __attribute__((noinline)) void region(void)
{
    faultline_mark_begin();
    work();
    faultline_mark_end();
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    if (strcmp(argv[1], "unmarked") == 0) {
        work();
        return 0;
    }
    if (strcmp(argv[1], "twice") == 0) {
        region();
        work();
        region();
        return 0;
    }
    faultline_mark_begin();
    work();
    if (strcmp(argv[1], "fork") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            work();
            exit(7);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
            return 1;
        work();
    } else if (strcmp(argv[1], "exec") == 0) {
        execl("/bin/true", "true", (char *)NULL);
        return 1;
    } else if (strcmp(argv[1], "crash") == 0) {
        *(volatile int *)(word - word + 8) = 1;
    } else if (strcmp(argv[1], "abort") == 0) {
        abort();
    } else if (strcmp(argv[1], "forever") == 0) {
        if (write(1, "running\n", 8) != 8)
            return 1;
        for (;;)
            work();
    }
    faultline_mark_end();
    return 0;
}
