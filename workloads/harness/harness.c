/* See harness.h. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "coordinator.h"
#include "failure.h"
#include "options.h"

/*
 * If the program was started with a standard stream closed, the next opened file would get its
 * number, and receive lines meant for people or for the lab. Without standard output there is no
 * output at all.
 */
static bool streams_are_open(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) >= 0)
            continue;
        if (stream == STDOUT_FILENO) {
            fprintf(stderr, "cannot write to standard output: %s\n", strerror(errno));
            return false;
        }
        if (open("/dev/null", O_RDWR) != stream)
            return false;
    }
    return true;
}

int harness_main(const struct workload *workload, int argc, char **argv)
{
    clock_start();
    if (!streams_are_open())
        return EXIT_SYSTEM_CALL;
    struct plan plan = options_read(workload, argc, argv);
    coordinator_run(&plan);
    return 0;
}
