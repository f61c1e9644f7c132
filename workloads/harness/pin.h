/* Confining the calling task to CPUs. */
#ifndef FAULTLINE_PIN_H
#define FAULTLINE_PIN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this system lets a program choose its CPUs. */
bool pin_supported(void);

/* Confines the calling thread, and what it starts, to the `count` CPUs. Returns 0 or an errno. */
int pin_self(const unsigned *cpus, size_t count);

#endif
