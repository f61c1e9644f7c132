/* Runs a program under the lens. Linux alone. */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdbool.h>

/*
 * Runs it in `directory`, as program_run() does; also tells what code its processes map, and how many there are. The
 * region of interest ends once all processes have ended; when `is_whole`, it begins with the program. Processes that go on
 * after the program are killed after a second.
 */
void counted_run(const char *directory, bool is_whole, char **words);

#endif
