/* The processes that this one started, and those that they started: on a machine that goes on after us, none may be left. */
#ifndef OFFSPRING_H
#define OFFSPRING_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on orphans among our descendants become our children, where the system can do that (Linux, FreeBSD). */
void offspring_adopt(void);

/* A fork whose child dies with us, where the system can do that. There is one such child at a time. */
pid_t offspring_fork(void);

/*
 * Kills that child and all that it started, and waits until they are gone; false when some could not be killed within seconds. Where orphans do not become
 * our children, those that have left the child's process group are only waited for.
 */
bool offspring_kill(void);

/* For offspring_kill() where orphans become our children: kills those that we have now, perhaps their children too. */
void offspring_kill_children(void);

#endif
