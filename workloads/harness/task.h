/*
 * A task or a peer from its fork to its end: set-up, barrier, loop, tear-down.
 *
 * A task is a process, or a thread of one process that hosts all tasks.
 */
#ifndef FAULTLINE_TASK_H
#define FAULTLINE_TASK_H

#include <stddef.h>

#include "control.h"
#include "workload.h"

/* Records the failure and ends the task. `step` is one word, usually the system call. */
_Noreturn void task_fail(struct task *task, const char *step, int error);
_Noreturn void task_fail_text(struct task *task, const char *step, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* In a peer, once: its set-up is complete. */
void peer_ready(struct task *peer);

/* The rest is for tasks.c. */

/* Pipes between the coordinator and its children. */
struct task_pipes {
    int report[2];  /* tasks write a byte: at the barrier, and when they have finished */
    int barrier[2]; /* end of file opens the barrier */
    int leave[2];   /* end of file releases tasks that have finished their operations */
};

/* Before any fork: what all children share. Pointers stay valid until the end. */
void task_prepare(const struct plan *plan, struct control *control, size_t control_bytes, const struct task_pipes *pipes);
/* In a child: runs task `index`, or all tasks in thread mode. */
_Noreturn void task_host_main(unsigned index);
/*
 * In a child: runs the peer of task `index`. Its slot, after those of all tasks, holds only its
 * failure.
 */
_Noreturn void task_peer_main(unsigned index);

#endif
