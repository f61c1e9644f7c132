/* Runs one execution, from the header line to `done`. */
#ifndef FAULTLINE_COORDINATOR_H
#define FAULTLINE_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "usage.h"
#include "workload.h"

/* The region of interest, after it has ended. */
struct region {
    uint64_t begin_ns;
    uint64_t end_ns;
    struct counters before;
    struct counters after;
    bool usage_of_window;         /* otherwise of the tasks' whole lives */
    struct usage usage;
    uint64_t usage_operations;    /* operations in the period of `usage`; 0 for whole lives */
    bool has_peers_cpu;           /* tasks have peers, and the system reports their CPU time */
    uint64_t peers_cpu_ns;        /* CPU time of all peers */
    uint64_t peers_span_ns;       /* the period of peers_cpu_ns, which encloses the region */
};

/* Returns after `done` has been printed; otherwise exits by failure_*(). */
void coordinator_run(const struct plan *plan);

#endif
