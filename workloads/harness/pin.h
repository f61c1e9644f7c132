/* Confining the calling task to CPUs. */
#ifndef FAULTLINE_PIN_H
#define FAULTLINE_PIN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this system lets a program choose its CPUs. */
bool pin_supported(void);

/* Confines the calling thread, and what it starts, to the `count` CPUs. Returns 0 or an errno. */
int pin_self(const unsigned *cpus, size_t count);

/*
 * The CPUs that the calling thread may run on, in a new list, to be freed; pin_self() with the list takes the thread back to
 * them. Where a thread that was never confined has an empty list (NetBSD), that means all CPUs there too. Returns 0 or an
 * errno.
 */
int pin_allowed(unsigned **cpus, size_t *count);

#endif
