/*
 * What must not outlive the execution: child processes and the scratch directory. Made here, cleared away by ending.h.
 *
 * All children live in one process group led by a guard, a process that sleeps on a pipe whose other end only the
 * coordinator holds. However the coordinator dies, the guard wakes and has a child of its own, outside the group, end the
 * group and remove the scratch directory. What leaves the group falls to the coordinator (orphans.h), if that is still there.
 */
#ifndef FAULTLINE_LIFETIME_H
#define FAULTLINE_LIFETIME_H

#include <sys/types.h>

/* Makes the scratch directory in `parent` and/or starts the guard. Ends by failure_os() if it can't. */
void lifetime_make_scratch(const char *parent, const char *name);
void lifetime_start_guard(void);

/* Absolute path of the scratch directory. */
const char *lifetime_scratch(void);

/*
 * fork() for a child that must not outlive the coordinator: in the child, signals are as the program found them, standard
 * input and output are /dev/null, and the process is in the guard's group and dies with the coordinator where the system
 * can promise that by itself. Returns as fork() does.
 */
pid_t lifetime_fork(void);

#endif
