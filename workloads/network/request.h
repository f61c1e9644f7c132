/* Due times and latencies of a task's requests, for tcp_rr and udp_rr. */
#ifndef FAULTLINE_REQUEST_H
#define FAULTLINE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/workload.h"

/* Time between two requests of a schedule. */
#define REQUEST_INTERVAL_NS UINT64_C(1000000)

struct request_clock {
    bool has_schedule;
    uint64_t since_ns;            /* start of the next request's latency; 0: not begun */
};

/*
 * In the coordinator, by workload.prepare. has_schedule: a request is due every
 * REQUEST_INTERVAL_NS, whether earlier ones have been answered or not, and its latency counts from
 * then. So a request delayed by an earlier one is as late as its user would find it (no coordinated
 * omission). Otherwise each request follows the reply to the previous one, and latency counts from
 * that reply.
 */
void request_prepare(const struct plan *plan, bool has_schedule);

/* In a task: before its first request. */
void request_setup(struct request_clock *clock, bool has_schedule);
/* Waits until the next request is due. */
void request_await(struct request_clock *clock);
/* The reply has arrived: records the latency. */
void request_done(struct request_clock *clock, const struct task *task);

#endif
