/*
 * All tasks and peers, from the coordinator: start, barrier, counts and end.
 *
 * The coordinator is always a separate process, so it shares neither address space nor descriptor
 * table with the tasks.
 */
#ifndef FAULTLINE_TASKS_H
#define FAULTLINE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "usage.h"
#include "workload.h"

/*
 * Starts the peers, if tasks have peers at this end, and all tasks; in a partner only the peers.
 * Returns when all peers are ready and tasks wait at the barrier.
 */
void tasks_start(const struct plan *plan);
/* Opens the barrier. */
void tasks_release(enum phase phase);
void tasks_enter(enum phase phase);
/* Completed operations of each task. */
void tasks_operations(uint64_t *operations);
/*
 * CPU time of the peers since their start; false if there are none, or if the system does not
 * report it.
 */
bool tasks_peers_cpu_ns(uint64_t *cpu_ns);
/*
 * Waits until `readable` is readable (-1: for ever) while watching tasks and peers. Exits by
 * failure_*() if one has ended.
 */
void tasks_watch(int readable);
/* Waits until deadline_ns while watching the tasks. Exits by failure_*() if a task has ended. */
void tasks_wait_until(uint64_t deadline_ns);
/* Waits until each task has done plan->operations. */
void tasks_wait_finished(void);
/* Ends all tasks within a time limit, then their peers. */
void tasks_stop(void);
/*
 * After tasks_stop(): the usage of all tasks. Returns true if it covers only the window.
 * *operations: those in the same period.
 */
bool tasks_usage(struct usage *usage, uint64_t *operations);

#endif
