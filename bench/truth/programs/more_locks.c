/*
 * Locks on which tasks spin.
 *
 * test_and_set  taken by exchange alone, so all that wait write
 * pthread_spin  the C library's
 * spin_long     a lock with a section of about 500 instructions
 * spin_rare     a lock with a short section, and about 2000 instructions between two of them
 */
#include "truth.h"

#include <pthread.h>

static struct {
    _Alignas(LINE) atomic_int is_taken;
    _Alignas(LINE) volatile long count;
} test_and_set, spin_long, spin_rare;
static struct {
    _Alignas(LINE) pthread_spinlock_t lock;
    _Alignas(LINE) volatile long count;
} spinning;

static void __attribute__((constructor)) make_lock(void)
{
    pthread_spin_init(&spinning.lock, PTHREAD_PROCESS_PRIVATE);
}

static void take(atomic_int *is_taken)
{
    while (atomic_exchange_explicit(is_taken, 1, memory_order_acquire))
        while (atomic_load_explicit(is_taken, memory_order_relaxed))
            pause_cpu();
}

static void give(atomic_int *is_taken)
{
    atomic_store_explicit(is_taken, 0, memory_order_release);
}

static void by_exchange(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        while (atomic_exchange_explicit(&test_and_set.is_taken, 1, memory_order_acquire))
            pause_cpu();
        test_and_set.count++;
        give(&test_and_set.is_taken);
    }
}

static bool has_counted(int tasks, long turns)
{
    return test_and_set.count == tasks * turns;
}

static void by_the_library(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        pthread_spin_lock(&spinning.lock);
        spinning.count++;
        pthread_spin_unlock(&spinning.lock);
    }
}

static void hold_long(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        take(&spin_long.is_taken);
        spin_long.count++;
        compute(250);
        give(&spin_long.is_taken);
    }
}

static void take_rarely(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        take(&spin_rare.is_taken);
        spin_rare.count++;
        give(&spin_rare.is_taken);
        compute(1000);
    }
}

const struct kind more_locks[] = {
    {"test_and_set", by_exchange, has_counted},
    {"pthread_spin", by_the_library, NULL},
    {"spin_long", hold_long, NULL},
    {"spin_rare", take_rarely, NULL},
    {NULL, NULL, NULL},
};
