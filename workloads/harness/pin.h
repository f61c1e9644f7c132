/* Confines the calling task to CPUs. */
#ifndef FAULTLINE_PIN_H
#define FAULTLINE_PIN_H

#include <stdbool.h>
#include <stddef.h>

/* True if programs can choose their CPUs on this system. */
bool pin_supported(void);

/*
 * Confines the calling thread, and its future children, to the `count` CPUs. Returns 0 or an errno.
 */
int pin_self(const unsigned *cpus, size_t count);

/*
 * Returns the CPUs that the calling thread may run on, in a new list; the caller frees it.
 * pin_self() with this list restores the thread's CPUs. On NetBSD a thread that was never confined
 * has an empty list, which there means all CPUs. Returns 0 or an errno.
 */
int pin_allowed(unsigned **cpus, size_t *count);

#endif
