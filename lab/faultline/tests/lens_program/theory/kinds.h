/* What tasks can do whose transfers can be derived on paper. Each kind has data of its own, in a variable of its name. */
#ifndef KINDS_H
#define KINDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A cache line. */
#define LINE 64

#define MOST_TASKS 32

struct kind {
    const char *name;
    /* What one task does; all begin at once. */
    void (*work)(int task, int tasks, long turns);
    /* Whether all have done it rightly; NULL if nobody can tell. */
    bool (*is_right)(int tasks, long turns);
};

/* Each ends with a kind without a name. */
extern const struct kind counters[];
extern const struct kind locks[];
extern const struct kind queues[];
extern const struct kind sleepers[];

static inline void pause_cpu(void)
{
    __builtin_ia32_pause();
}

#endif
