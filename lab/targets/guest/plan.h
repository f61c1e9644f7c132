/*
 * The agent's commands, each a list of words, from a file in the initramfs or from a request.
 *
 * The file contains words, each ended by a NUL byte. A command is a word with the number of its
 * words, then those words.
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the file. False with errno set if it cannot be read or is malformed; then there are no
 * commands.
 */
bool plan_read(const char *path);

/*
 * Takes such words in memory, which the plan owns from now on. A NUL byte follows their end.
 * Replaces the previous plan.
 */
bool plan_take(char *bytes, size_t length);

/* Restarts with the first command. */
void plan_rewind(void);

/*
 * Words of the next command, ended by NULL, and their number, which is at least 1. NULL after the
 * last command.
 */
char **plan_next(size_t *count);

#endif
