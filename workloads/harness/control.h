/*
 * Memory shared by the coordinator and the tasks; they share nothing else.
 *
 * The coordinator writes `phase`, three times in an execution. Each task writes its own slot. The
 * hot part of a slot has separate cache lines: 256 bytes, so that two tasks' counters never share a
 * line, neither through a prefetcher that fetches lines in pairs (x86) nor through 128-byte lines
 * (POWER, Apple). So in the loop, a task writes a line that no other task writes, and reads a line
 * (`phase`) that does not change. A reading of the counters by the coordinator costs one transfer
 * each way per task and interval.
 */
#ifndef FAULTLINE_CONTROL_H
#define FAULTLINE_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "usage.h"

enum { SLOT_ALIGN_BYTES = 256, FAILURE_STEP_BYTES = 64, FAILURE_TEXT_BYTES = 256 };

enum phase { PHASE_WARMUP, PHASE_WINDOW, PHASE_STOP };

/* Reason why a task ended. */
struct task_failure {
    _Atomic bool recorded;        /* set after all other fields */
    int error;                    /* errno */
    char step[FAILURE_STEP_BYTES];
    char text[FAILURE_TEXT_BYTES];
};

/* Resources that a task had used when it saw a phase begin. */
struct task_snapshot {
    struct usage usage;
    uint64_t operations;
};

struct task_slot {
    /* Completed operations. Single writer: the task. */
    _Alignas(SLOT_ALIGN_BYTES) _Atomic uint64_t operations;
    /* Cold: written only at phase changes and at the end. */
    _Alignas(SLOT_ALIGN_BYTES) struct task_snapshot at_begin;
    struct task_snapshot at_end;
    bool snapshots_taken;
    struct task_failure failure;
};

struct control {
    _Alignas(SLOT_ALIGN_BYTES) _Atomic int phase;
    _Alignas(SLOT_ALIGN_BYTES) struct task_slot slot[];
};

#endif
