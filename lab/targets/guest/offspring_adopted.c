/*
 * See offspring.h. For systems where orphans among our descendants become our children: when we
 * have no child, no descendant is left.
 */
#include "offspring.h"

#if defined(__linux__) || defined(__FreeBSD__)

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

enum {
    REST_NS = 2000000,
    RESTS = 2500, /* 5 s: a process in an uninterruptible wait can take longer */
};

bool offspring_kill(void)
{
    for (int rests = 0; rests < RESTS; rests++) {
        pid_t died;
        while ((died = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (died < 0 && errno == ECHILD)
            return true;
        offspring_kill_children();
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    }
    return false;
}

#endif
