/* See offspring.h. */
#include "offspring.h"

#if defined(__FreeBSD__)

#include <errno.h>
#include <signal.h>
#include <sys/procctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REST_NS = 2000000,
    RESTS = 2500, /* 5 s: a process in an uninterruptible wait can take longer than anyone wants to wait */
};

void offspring_adopt(void)
{
    procctl(P_PID, getpid(), PROC_REAP_ACQUIRE, NULL); /* since FreeBSD 10.2 */
}

pid_t offspring_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        int signal_number = SIGKILL;
        procctl(P_PID, getpid(), PROC_PDEATHSIG_CTL, &signal_number); /* since FreeBSD 11.2 */
    }
    return child;
}

bool offspring_kill(void)
{
    for (int rests = 0; rests < RESTS; rests++) {
        pid_t died;
        while ((died = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (died < 0 && errno == ECHILD)
            return true;
        struct procctl_reaper_kill all = {.rk_sig = SIGKILL};
        procctl(P_PID, getpid(), PROC_REAP_KILL, &all);
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    }
    return false;
}

#endif
