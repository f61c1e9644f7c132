/* See offspring.h. */
#include "offspring.h"

#if defined(__FreeBSD__)

#include <signal.h>
#include <sys/procctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

void offspring_kill_children(void)
{
    struct procctl_reaper_kill all = {.rk_sig = SIGKILL};
    procctl(P_PID, getpid(), PROC_REAP_KILL, &all);
}

#endif
