/*
 * endings HOW: programs that end in unusual ways, or not at all (`hang`). `unmarked` contains
 * marks, but executes none.
 */
#include "faultline_mark.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long turns;

static void work(void)
{
    for (int turn = 0; turn < 1000; turn++)
        turns++;
}

/* A separate function, so that the code after a mark starts a new block of instructions. */
static __attribute__((noinline)) void region(void)
{
    faultline_mark_begin();
    work();
    faultline_mark_end();
}

static int is(const char *how, const char *other)
{
    return strcmp(how, other) == 0;
}

static int forked(void)
{
    pid_t child = fork();

    if (child == 0) {
        work();
        _exit(0);
    }
    work();
    return waitpid(child, NULL, 0) == child ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *how = argc == 2 ? argv[1] : "";

    if (is(how, "unmarked")) {
        work();
        return 0;
    }
    if (is(how, "twice")) {
        region();
        work();
        region();
        return 0;
    }
    faultline_mark_begin();
    work();
    if (is(how, "fork") && forked() != 0)
        return 1;
    if (is(how, "exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (is(how, "crash"))
        raise(SIGSEGV);
    if (is(how, "abort"))
        abort();
    if (is(how, "three")) {
        faultline_mark_end();
        if (write(2, "no more beds\n", 13) != 13)
            return 1;
        return 3;
    }
    if (is(how, "orphan") && fork() == 0) {
        /* The child is not waited for, and does not end by itself. */
        setsid();
        how = "hang";
    }
    while (is(how, "hang"))
        pause();
    faultline_mark_end();
    return 0;
}
