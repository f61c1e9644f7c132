/*
 * Latencies in the region of interest, and their percentiles.
 *
 * Each task counts its latencies in a histogram in shared memory, whose buckets are at most 1/64 of
 * their values wide. The coordinator reads it at both ends of the region, so the figures include
 * neither set-up nor warm-up.
 */
#ifndef FAULTLINE_LATENCY_H
#define FAULTLINE_LATENCY_H

#include <stdint.h>

#include "harness/coordinator.h"
#include "harness/workload.h"

/*
 * For workload.prepare, at_begin, at_end and conclude. `since` is the start of a latency, for the
 * note latency_since.
 */
void latency_prepare(const struct plan *plan, const char *since);
void latency_at_begin(const struct plan *plan);
void latency_at_end(const struct plan *plan);
/*
 * Prints `note latency_since …`, `note latency_samples N`, and for all tasks together
 * `measure latency_p50_s s lower VALUE`, p90, p99 and p999: each if at least 10 samples lie above
 * it.
 */
void latency_conclude(const struct plan *plan, const struct region *region);

/* In a task. */
void latency_record(const struct task *task, uint64_t nanoseconds);

#endif
