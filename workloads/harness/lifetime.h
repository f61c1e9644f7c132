/*
 * Creates what must not survive the execution: child processes and the scratch directory. ending.h
 * removes them.
 *
 * All children are in one process group. Its leader is a guard, a process that sleeps on a pipe
 * whose other end only the coordinator holds. However the coordinator dies, the guard wakes up. A
 * child of the guard, outside the group, then kills the group and removes the scratch directory. If
 * the coordinator is still alive, it kills the processes that left the group (orphans.h).
 */
#ifndef FAULTLINE_LIFETIME_H
#define FAULTLINE_LIFETIME_H

#include <sys/types.h>

/*
 * Starts the guard, which creates the scratch directory in `scratch_parent` (NULL: no directory),
 * named after `name`. Exits by failure_os() if it cannot.
 */
void lifetime_start_guard(const char *scratch_parent, const char *name);

/* Absolute path of the scratch directory. */
const char *lifetime_scratch(void);

/*
 * fork() for a child that must not survive the coordinator. In the child, signals are as the
 * program found them, and standard input and output are /dev/null. The child is in the guard's
 * group, and dies with the coordinator if the system can guarantee that by itself. Returns as
 * fork() does.
 */
pid_t lifetime_fork(void);

#endif
