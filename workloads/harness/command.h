/*
 * Auxiliary programs that the coordinator runs, and the compiler that a workload uses. No shell is
 * involved.
 */
#ifndef FAULTLINE_COMMAND_H
#define FAULTLINE_COMMAND_H

#include <stddef.h>

/*
 * Splits at spaces into a new NULL-terminated list, which one free() releases. Leaves `room`
 * further places for the caller. Returns NULL if there is no memory.
 */
char **command_split(const char *text, size_t room);

/*
 * Runs the command for at most 10 s and stores the first line that it prints (empty if it prints
 * none or fails). Returns 0, or an errno if the command could not be started. Exits by failure_os()
 * if the command does not end.
 */
int command_first_line(char *const *arguments, char *line, size_t line_bytes);

/*
 * The C compiler, $CC or `cc`, with `room` free places after its words. Prints
 * `note compiler VERSION`. One free() releases it. Exits by failure_unsupported() if there is no
 * compiler.
 */
char **command_compiler(size_t room);

#endif
