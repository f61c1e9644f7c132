/* Runs programs and tells what it says: each line of their standard output as it comes, how they ended, their last words. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/* `words`: the program's path and its arguments, ended by NULL. */
void program_run(char **words);

/* A program that runs. */
struct program {
    pid_t process;
    bool has_ended;
    int status; /* once it has ended */
    bool is_alone; /* no process is left, it and all that it started */
};

/* A way to run a program. */
struct program_way {
    char **words;
    const char *directory; /* NULL: where we are */
    bool is_marked; /* its process executes the begin mark just before it becomes the program */
    void (*follow)(struct program *); /* follows it to its end; NULL: until it has ended and its output is closed, or silent */
};

/* The same in such a way. */
void program_run_in(const struct program_way *way);

/* For who follows a program: rests, and passes on what has come meanwhile; false when nothing has. */
bool program_take(void);

/* Whether anything may still come: the program or another process has its output open. */
bool program_may_speak(void);

/* Notes who has ended. */
void program_reap(struct program *program);

#endif
