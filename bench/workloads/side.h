/*
 * One side of a pair: a loop, under the harness or bare, measured once.
 *
 * Either side is a new execution of this program, and the loop runs in a process that is forked
 * once from it. So both have a fresh address-space layout, and the same distance from an exec (a
 * fork costs more in a process that was itself forked).
 */
#ifndef FAULTLINE_BENCH_SIDE_H
#define FAULTLINE_BENCH_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "bare.h"
#include "harness/workload.h"

struct side_result {
    double cpu_ns;           /* per operation: user and system time of the task and its children */
    double wall_ns;          /* per operation */
    uint64_t operations;
};

enum side_outcome {
    SIDE_MEASURED,
    SIDE_STARVED,            /* it succeeded, but got no CPU for so long that there is no figure */
    SIDE_FAILED,             /* it failed and printed why */
};

/* Call it first in main: it does not return in a process that is a side. */
void side_main(int argc, char **argv, const struct workload *(*workload_named)(const char *name));

/* Runs the workload's own entry point for `window_ms`, after a warm-up of a third of that. */
enum side_outcome side_harness(const struct workload *workload, const char *variant, unsigned cpu, unsigned window_ms,
                  struct side_result *result);

/* Runs the bare loop `index` of the list for `operations`, after a warm-up of a third of that. */
enum side_outcome side_bare(size_t index, const struct bare_conditions *conditions, unsigned cpu, uint64_t operations,
               struct side_result *result);

#endif
