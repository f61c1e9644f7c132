/* Runs programs and tells what it says: each line of their standard output as it comes, how they ended, their last words. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

/* `words`: the program's path and its arguments, ended by NULL. */
void program_run(char **words);

/*
 * The same for a program under the lens, in `directory`: also tells what code its processes map, and how many there are. The
 * region of interest ends once all processes have ended; when `is_whole`, it begins with the program. Processes that go on
 * after the program are killed after a second.
 */
void program_count(const char *directory, bool is_whole, char **words);

#endif
