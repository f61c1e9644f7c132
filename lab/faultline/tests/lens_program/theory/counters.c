/*
 * Counters: shared by tasks, on separate lines, or adjacent on one line. Also a word that one task
 * writes once, and the read side of RCU: each reader announces itself in its own line, and follows
 * a pointer that one task publishes once.
 */
#include "kinds.h"

#include <stdint.h>

static _Alignas(LINE) atomic_long shared;
static struct {
    _Alignas(LINE) atomic_long count;
} padded[MOST_TASKS];
static _Alignas(LINE) _Atomic uint16_t beside[MOST_TASKS];
static _Alignas(LINE) volatile long mostly_read;

static struct {
    _Alignas(LINE) _Atomic(const long *) published;
    struct {
        _Alignas(LINE) atomic_long reading;
    } readers[MOST_TASKS];
} rcu;
static const _Alignas(LINE) long old_value = 1, new_value = 2;

static void __attribute__((constructor)) publish_old(void)
{
    atomic_init(&rcu.published, &old_value);
}

static void count_shared(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++)
        atomic_fetch_add(&shared, 1);
}

static bool is_sum(int tasks, long turns)
{
    return shared == tasks * turns;
}

static void count_padded(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++)
        atomic_fetch_add(&padded[task].count, 1);
}

static void count_beside(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++)
        atomic_fetch_add(&beside[task], 1);
}

static void only_read(int task, int tasks, long turns)
{
    (void)tasks;
    if (task == 0)
        mostly_read = 1;
    for (long i = 0; i < turns; i++)
        (void)mostly_read;
}

static void read_published(int task, int tasks, long turns)
{
    (void)tasks;
    if (task == 0)
        atomic_store(&rcu.published, &new_value);
    for (long i = 0; i < turns; i++) {
        atomic_store_explicit(&rcu.readers[task].reading, 1, memory_order_seq_cst);
        (void)*(volatile const long *)atomic_load_explicit(&rcu.published, memory_order_acquire);
        atomic_store_explicit(&rcu.readers[task].reading, 0, memory_order_release);
    }
}

const struct kind counters[] = {
    {"shared", count_shared, is_sum},
    {"padded", count_padded, NULL},
    {"beside", count_beside, NULL},
    {"mostly_read", only_read, NULL},
    {"rcu", read_published, NULL},
    {NULL, NULL, NULL},
};
