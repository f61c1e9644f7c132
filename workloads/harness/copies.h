/*
 * Copies of a command that run at once, for workloads whose region of interest is a command's whole life.
 *
 * Each copy's last words are kept in a file of the scratch directory, and shown when it ends badly. A descendant that its own
 * parent left behind counts among what the copies used, if it has ended by then.
 */
#ifndef FAULTLINE_COPIES_H
#define FAULTLINE_COPIES_H

#include <stdbool.h>

#include "coordinator.h"
#include "workload.h"

struct copies {
    char *const *command;         /* words, NULL-terminated */
    unsigned count;
    bool keeps_output;            /* last words are those of standard output too; else that is /dev/null */
    /* In the child, before the region: NULL, or the step that failed, with errno set. */
    const char *(*enter)(const struct plan *plan, unsigned copy);
    /* In the coordinator, once a copy has ended with status 0; absent, or ends by failure_*() if it should not have. */
    void (*check)(unsigned copy);
};

/* The value of an option that says how many copies: NULL, or what is wrong with it. */
const char *copies_read(const char *value, unsigned *count);

/*
 * At the end of STYLE_ONCE's `prepare`: forks the processes that are to become the copies, and returns when each waits for the
 * region to begin. `copies` is to last as long as the execution.
 */
void copies_prepare(const struct plan *plan, const struct copies *copies);

/* STYLE_ONCE's `run`: lets them become the command and returns when all have ended well; ends by failure_*() otherwise. */
void copies_run(void);

/*
 * Prints `real_s`, from the moment when all are let go until the last one's end, and `user_s` and `system_s`, what they used;
 * that has the fork of each in it.
 */
void copies_print_times(const struct region *region);

#endif
