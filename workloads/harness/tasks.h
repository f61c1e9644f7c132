/*
 * Tasks: start, barrier, counts and end.
 *
 * A task is a process, or a thread of one process that hosts all tasks. The coordinator is always a separate process,
 * so it shares neither address space nor descriptor table with what it measures.
 */
#ifndef FAULTLINE_TASKS_H
#define FAULTLINE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "usage.h"
#include "workload.h"

/* In a task: records the failure and ends the task. `step` is one word, usually the system call. */
_Noreturn void task_fail(struct task *task, const char *step, int error);
_Noreturn void task_fail_text(struct task *task, const char *step, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* In a peer, once: it has set up. */
void peer_ready(struct task *peer);

/* The rest is for the coordinator. */

/*
 * Starts the peers, if tasks have such here, and all tasks; in a partner the peers alone. Returns when each has set up and tasks
 * wait at the barrier.
 */
void tasks_start(const struct plan *plan);
/* Opens the barrier. */
void tasks_release(enum phase phase);
void tasks_enter(enum phase phase);
/* Completed operations of each task. */
void tasks_operations(uint64_t *operations);
/* CPU time that the peers have used since they began; false if there are none, or the system does not tell. */
bool tasks_peers_cpu_ns(uint64_t *cpu_ns);
/* Waits until there is something to read, -1: for ever, while watching tasks and peers. Exits by failure_*() if one has ended. */
void tasks_watch(int readable);
/* Waits until deadline_ns while watching the tasks. Exits by failure_*() if a task has ended. */
void tasks_wait_until(uint64_t deadline_ns);
/* Waits until each task has done plan->operations. */
void tasks_wait_finished(void);
/* Ends all tasks within a time limit, then their peers. */
void tasks_stop(void);
/*
 * After tasks_stop(): the usage of all tasks. Returns true if it is of the window alone. *operations: those in the same
 * period.
 */
bool tasks_usage(struct usage *usage, uint64_t *operations);

#endif
