/* Execution of a program under the lens. Linux only. */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdbool.h>

/*
 * Runs the program in `directory`, as program_run() does, and reports the code that its processes
 * map and their number. The region of interest ends when all processes have ended. If `is_whole`,
 * it begins with the program. Processes that outlive the program by a second are killed.
 */
void counted_run(const char *directory, bool is_whole, char **words);

#endif
