/* Execution of a program under the lens. Linux only. */
#ifndef COUNTED_H
#define COUNTED_H

/*
 * Runs the program in `directory`, as program_run() does, and reports the code that its processes
 * map and their number. The region of interest ends when all processes have ended. It begins with
 * the program if `scope` is "whole", and so many milliseconds after the program's start if it is
 * "after:MILLISECONDS", to a tenth of a second. Processes that outlive the program by a second are
 * killed.
 */
void counted_run(const char *directory, const char *scope, char **words);

#endif
