/*
 * Concurrent copies of a command, for workloads whose region of interest is the whole life of a
 * command.
 *
 * The end of each copy's output is kept in a file of the scratch directory, and shown if the copy
 * fails. A descendant whose own parent did not wait for it counts towards the copies' usage if it
 * has ended by then.
 */
#ifndef FAULTLINE_COPIES_H
#define FAULTLINE_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "coordinator.h"
#include "workload.h"

struct copies {
    char *const *command;         /* words, NULL-terminated */
    const char *step;             /* named by the failure of a copy; NULL: `command` */
    unsigned count;
    bool apart;                   /* only one: its descendants that outlive it count towards no later copies (Linux) */
    bool keeps_output;            /* keeps standard output too; otherwise that is /dev/null */
    /* In the child, before the region: returns NULL, or the step that failed, with errno set. */
    const char *(*enter)(const struct plan *plan, unsigned copy);
    /*
     * In the coordinator, after a copy has ended with status 0. Optional. Exits by failure_*() if
     * the copy failed nevertheless.
     */
    void (*check)(unsigned copy);
};

/*
 * Parses an option that sets the number of copies. Returns NULL, or the reason why the value is
 * invalid.
 */
const char *copies_read(const char *value, unsigned *count);

/*
 * At the end of STYLE_ONCE's `prepare`: forks the future copies. Returns when all of them wait for
 * the region to begin. `copies` must live as long as they do. After copies_run(), other copies may
 * follow.
 */
void copies_prepare(const struct plan *plan, const struct copies *copies);

/*
 * STYLE_ONCE's `run`: lets the processes become the command. Returns when all have succeeded;
 * otherwise exits by failure_*().
 */
void copies_run(void);

/*
 * The most memory of one process among the copies, their descendants and the processes that ended
 * beside them, in bytes. At least the coordinator's memory when it forked the copies.
 */
uint64_t copies_largest_bytes(void);

/*
 * Prints `real_s`, the time from the release of all processes to the end of the last one, and
 * `user_s` and `system_s`, their CPU time, including the fork of each.
 */
void copies_print_times(const struct region *region);

#endif
