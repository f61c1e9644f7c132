/*
 * Declarations shared by the programs here. Those of the theory (`tests/lens_program/theory`) are
 * part of the same executable.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include "kinds.h"

extern const struct kind shared_words[];
extern const struct kind more_locks[];
extern const struct kind sections[];
extern const struct kind turns_of_two[];
extern const struct kind passing[];
extern const struct kind own_memory[];

/* Work that touches no memory: about two instructions per step. */
static inline void compute(long steps)
{
    for (long i = 0; i < steps; i++)
        __asm__ volatile("" : "+r"(i));
}

#endif
