/* See offspring.h. Where orphans among our descendants become our children: nobody is left when we have none. */
#include "offspring.h"

#if defined(__linux__) || defined(__FreeBSD__)

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

enum {
    REST_NS = 2000000,
    RESTS = 2500, /* 5 s: a process in an uninterruptible wait can take longer than anyone wants to wait */
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
