/*
 * What the agent is to do: commands, each a list of words, from a file that the lab put into the initramfs, or from a request.
 *
 * The file holds words that each end with a NUL byte. A command is a word with the number of its words, then those words.
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the file; false, and errno set, when it can't be read or is not as above. There are no commands then. */
bool plan_read(const char *path);

/* The same with such words in memory, which stay the plan's; there is a NUL byte after their end. Takes the place of the plan before. */
bool plan_take(char *bytes, size_t length);

/* Begins again with the first command. */
void plan_rewind(void);

/* The next command's words, ended by NULL, and their number, which is at least 1; NULL after the last. */
char **plan_next(size_t *count);

#endif
