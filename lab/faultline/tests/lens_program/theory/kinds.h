/*
 * Kinds of work whose transfers can be derived on paper. The data of each are in a variable of the
 * same name.
 */
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
    /* The work of one task. All tasks begin at once. */
    void (*work)(int task, int tasks, long turns);
    /* Returns true if all tasks worked correctly; NULL if this cannot be checked. */
    bool (*is_right)(int tasks, long turns);
};

/* Arrays terminated by a kind without a name. */
extern const struct kind counters[];
extern const struct kind locks[];
extern const struct kind queues[];
extern const struct kind sleepers[];

static inline void pause_cpu(void)
{
    __builtin_ia32_pause();
}

#endif
