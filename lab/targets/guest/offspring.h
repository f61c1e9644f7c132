/* Descendants of this process: on a machine that outlives the agent, none may stay. */
#ifndef OFFSPRING_H
#define OFFSPRING_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Makes orphans among our descendants our children, where the system supports it (Linux, FreeBSD).
 */
void offspring_adopt(void);

/*
 * A fork whose child dies with us, where the system supports it. There is one such child at a time.
 */
pid_t offspring_fork(void);

/*
 * Kills that child and all its descendants, and waits until they are gone. False if some could not
 * be killed within seconds. Where orphans do not become our children, descendants that left the
 * child's process group are only waited for.
 */
bool offspring_kill(void);

/*
 * For offspring_kill() where orphans become our children: kills our present children, perhaps their
 * children too.
 */
void offspring_kill_children(void);

#endif
