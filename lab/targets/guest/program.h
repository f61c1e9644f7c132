/* Runs a program and tells what it says: each line of its standard output as it comes, how it ended, its last words. */
#ifndef PROGRAM_H
#define PROGRAM_H

/* `words`: the program's path and its arguments, ended by NULL. */
void program_run(char **words);

#endif
