/* Programs that the coordinator runs on the side, and the compiler that a workload uses. No shell is involved. */
#ifndef FAULTLINE_COMMAND_H
#define FAULTLINE_COMMAND_H

#include <stddef.h>

/*
 * Splits at spaces into a new NULL-terminated list, to be freed as one; `room` further places stay free for the caller. NULL
 * without memory.
 */
char **command_split(const char *text, size_t room);

/*
 * Runs the command for at most 10 s and stores the first line that it prints (empty if it prints none or ends badly).
 * Returns 0 or, when it could not be started, an errno. Ends by failure_os() when it does not end.
 */
int command_first_line(char *const *arguments, char *line, size_t line_bytes);

/*
 * The C compiler, $CC or `cc`, with `room` free places after its words; prints `note compiler VERSION`. To be freed as
 * one. Ends by failure_unsupported() when there is none.
 */
char **command_compiler(size_t room);

#endif
