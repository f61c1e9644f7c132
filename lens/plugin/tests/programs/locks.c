// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locks ticket|mcs TASKS ITERATIONS: tasks acquire and release a lock, and do nothing else. The locks are those of
 * Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors", ACM TOCS 1991.
 *
 * locks guarded TASKS ITERATIONS: a test-and-set lock and the data that it protects, on one line, whose address is
 * printed.
 */
#include "team.h"

#include <stdint.h>
#include <string.h>

static ALIGNED atomic_uint next_ticket;
static ALIGNED atomic_uint now_serving;

struct node {
    ALIGNED _Atomic(struct node *) next;
    atomic_int is_locked;
};

static ALIGNED _Atomic(struct node *) tail;
static struct node nodes[64];

static void take_ticket(int task, long iterations)
{
    (void)task;
    for (long i = 0; i < iterations; i++) {
        unsigned mine = atomic_fetch_add(&next_ticket, 1);
        while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
            pause_cpu();
        atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
    }
}

static void queue_up(int task, long iterations)
{
    struct node *node = &nodes[task];
    for (long i = 0; i < iterations; i++) {
        atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
        struct node *before = atomic_exchange(&tail, node);
        if (before != NULL) {
            atomic_store_explicit(&node->is_locked, 1, memory_order_relaxed);
            atomic_store_explicit(&before->next, node, memory_order_release);
            while (atomic_load_explicit(&node->is_locked, memory_order_acquire))
                pause_cpu();
        }
        struct node *after = atomic_load_explicit(&node->next, memory_order_acquire);
        if (after == NULL) {
            struct node *expected = node;
            if (atomic_compare_exchange_strong(&tail, &expected, NULL))
                continue;
            while ((after = atomic_load_explicit(&node->next, memory_order_acquire)) == NULL)
                pause_cpu();
        }
        atomic_store_explicit(&after->is_locked, 0, memory_order_release);
    }
}

static struct {
    ALIGNED atomic_int is_taken;
    volatile long entries;
    volatile long last;
} guarded;

static void enter(int task, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        while (atomic_exchange_explicit(&guarded.is_taken, 1, memory_order_acquire))
            while (atomic_load_explicit(&guarded.is_taken, memory_order_relaxed))
                pause_cpu();
        guarded.entries++;
        guarded.last = task;
        atomic_store_explicit(&guarded.is_taken, 0, memory_order_release);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    if (strcmp(argv[1], "guarded") == 0) {
        printf("%llu\n", (unsigned long long)(uintptr_t)&guarded);
        team_run(atoi(argv[2]), atol(argv[3]), enter);
        return guarded.entries == atol(argv[2]) * atol(argv[3]) ? 0 : 1;
    }
    team_run(atoi(argv[2]), atol(argv[3]), strcmp(argv[1], "ticket") == 0 ? take_ticket : queue_up);
    return 0;
}
