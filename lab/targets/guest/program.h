/*
 * Execution of programs, with reports: each line of standard output as it arrives, the exit status,
 * the last lines of standard error.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/* `words`: the program's path and its arguments, ended by NULL. */
void program_run(char **words);

/* A running program. */
struct program {
    pid_t process;
    bool has_ended;
    int status; /* once it has ended */
    bool is_alone; /* the program and all its descendants have ended */
};

/* Inputs of a program's execution. */
struct program_way {
    char **words;
    const char *directory; /* NULL: ours */
    bool is_marked; /* the begin mark is executed just before the exec */
    void (*follow)(struct program *); /* NULL: until the program has ended and its output is closed or silent */
};

/* Runs a program with these inputs. */
void program_run_in(const struct program_way *way);

/* For `follow`: pauses, and forwards new output. False without new output. */
bool program_take(void);

/* True while output may arrive: the program or another process has the pipes open. */
bool program_may_speak(void);

/* Records ended processes. */
void program_reap(struct program *program);

#endif
