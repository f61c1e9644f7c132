/* endings HOW: programs that end in other ways than by the book, or not at all, as with `hang` and `4`. `unmarked` passes no mark,
 * though it holds some. */
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

static void end(int number)
{
    (void)number;
    _exit(0);
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
    faultline_mark_begin();
    work();
    if (is(how, "fork") && forked() != 0)
        return 1;
    if (is(how, "exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (is(how, "crash"))
        raise(SIGSEGV);
    if (is(how, "three")) {
        faultline_mark_end();
        if (write(2, "no more beds\n", 13) != 13)
            return 1;
        return 3;
    }
    if (is(how, "orderly")) {
        /* Goes on until it is asked to end, and then does. */
        signal(SIGTERM, end);
        how = "hang";
    }
    if (is(how, "orphan")) {
        /* Nobody waits for the child, and it ends by itself as little as we do. */
        if (fork() == 0)
            setsid();
        how = "hang";
    }
    while (is(how, "hang") || is(how, "4"))
        pause();
    faultline_mark_end();
    return 0;
}
