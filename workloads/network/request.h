/* When a task's requests are due, and how long each took: for tcp_rr and udp_rr. */
#ifndef FAULTLINE_REQUEST_H
#define FAULTLINE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/workload.h"

/* Time between two requests of a schedule. */
#define REQUEST_INTERVAL_NS UINT64_C(1000000)

struct request_clock {
    bool has_schedule;
    uint64_t since_ns;            /* latency of the request that is made next counts from here; 0: not begun */
};

/*
 * In the coordinator, by workload.prepare. has_schedule: a request is due each REQUEST_INTERVAL_NS, whether the ones before it have
 * been answered or not, and its latency counts since then. So a request that could not be sent in time because an earlier one
 * hung is as late as its user would find it (no coordinated omission). Otherwise each request follows the reply before it, and
 * latency counts since that.
 */
void request_prepare(const struct plan *plan, bool has_schedule);

/* In a task: before its first request. */
void request_setup(struct request_clock *clock, bool has_schedule);
/* Waits until the next request is due. */
void request_await(struct request_clock *clock);
/* The reply is there: records the latency. */
void request_done(struct request_clock *clock, const struct task *task);

#endif
