/*
 * See offspring.h. POSIX only: the child leads a process group, which is killed. All its
 * descendants inherit a pipe, whose end of file shows that none is left. POSIX has no way to let
 * the child die with us: if we are killed, the child continues to its end.
 */
#include "offspring.h"

#if !defined(__linux__) && !defined(__FreeBSD__)

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    REST_MS = 2,
    RESTS = 2500, /* 5 s, as elsewhere */
};

static pid_t group;
static int life = -1;

void offspring_adopt(void)
{
}

pid_t offspring_fork(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        setpgid(0, 0);
        return 0;
    }
    int error = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        errno = error;
        return -1;
    }
    setpgid(child, child); /* here too, so that the group exists when we kill it */
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    group = child;
    life = ends[0];
    return child;
}

/* True if no process has the pipe open, after at most one pause. Nothing is written to it. */
static bool is_over(void)
{
    struct pollfd pipe_end = {.fd = life, .events = POLLIN};
    return poll(&pipe_end, 1, REST_MS) > 0;
}

bool offspring_kill(void)
{
    bool is_alone = life < 0;
    for (int rests = 0; !is_alone && rests < RESTS; rests++) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        is_alone = is_over();
        if (!is_alone)
            kill(-group, SIGKILL);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    if (life >= 0)
        close(life);
    life = -1;
    return is_alone;
}

#endif
