/*
 * Tasks: starting them, the barrier, what they say, and their end.
 *
 * A task is a process, or a thread of one process that hosts all tasks. The coordinator is a process of its own in either
 * case, so that it shares neither address space nor descriptors' table with what it measures.
 */
#ifndef FAULTLINE_TASKS_H
#define FAULTLINE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "usage.h"
#include "workload.h"

/* In a task: records what failed and ends the task. `step` is one word, usually the system call. */
_Noreturn void task_fail(struct task *task, const char *step, int error);
_Noreturn void task_fail_text(struct task *task, const char *step, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The rest is for the coordinator. */

/* Starts all tasks; returns when each has set up and waits at the barrier. */
void tasks_start(const struct plan *plan);
/* Opens the barrier. */
void tasks_release(enum phase phase);
void tasks_enter(enum phase phase);
/* Completed operations of each task. */
void tasks_operations(uint64_t *operations);
/* Waits until deadline_ns while watching the tasks; ends by failure_*() when one has ended. */
void tasks_wait_until(uint64_t deadline_ns);
/* Waits until each has done plan->operations. */
void tasks_wait_finished(void);
/* Ends all tasks within a time limit. */
void tasks_stop(void);
/* After tasks_stop(): what all of them used; true when it is of the window alone. Operations in the same stretch. */
bool tasks_usage(struct usage *usage, uint64_t *operations);

#endif
