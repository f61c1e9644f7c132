/*
 * The coordinator's end: kills its children, removes the scratch directory, exits. It owns what
 * lifetime.h creates.
 */
#ifndef FAULTLINE_ENDING_H
#define FAULTLINE_ENDING_H

#include <sys/types.h>

/* Hands over the scratch directory: an absolute path from malloc. */
void ending_owns_scratch(char *path);

/* Absolute path of the scratch directory; NULL before there is one. */
const char *ending_scratch(void);

/* Hands over the guard, whose process group holds all children. */
void ending_owns_group(pid_t guard);

/* In a forked child: closes the descriptors that only the coordinator's end needs. */
void ending_is_the_parents(void);

/*
 * Removes the scratch directory while killed processes may still write to it. Tries for a fraction
 * of a second.
 */
void ending_remove_scratch_soon(void);

/* Kills every child, reaps them and removes the scratch directory. Safe to call twice. */
void ending_clear_away(void);

/* ending_clear_away() and exit. */
_Noreturn void ending_exit(int status);

#endif
