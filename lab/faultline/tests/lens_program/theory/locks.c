/*
 * Spin locks, which tasks only acquire and release. The ticket and MCS locks are those of
 * Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
 * multiprocessors", ACM TOCS 1991. `guarded` is a test-and-set lock on one line with the data it
 * protects.
 */
#include "kinds.h"

static struct {
    _Alignas(LINE) atomic_uint next;
    _Alignas(LINE) atomic_uint serving;
} ticket;

struct node {
    _Alignas(LINE) _Atomic(struct node *) next;
    atomic_int is_locked;
};

static struct {
    _Alignas(LINE) _Atomic(struct node *) tail;
    struct node nodes[MOST_TASKS];
} mcs;

static struct {
    _Alignas(LINE) atomic_int is_taken;
    volatile long entries;
    volatile long last;
} guarded;

static void take_ticket(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        unsigned mine = atomic_fetch_add(&ticket.next, 1);
        while (atomic_load_explicit(&ticket.serving, memory_order_acquire) != mine)
            pause_cpu();
        atomic_store_explicit(&ticket.serving, mine + 1, memory_order_release);
    }
}

static void queue_up(int task, int tasks, long turns)
{
    (void)tasks;
    struct node *node = &mcs.nodes[task];
    for (long i = 0; i < turns; i++) {
        atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
        struct node *before = atomic_exchange(&mcs.tail, node);
        if (before != NULL) {
            atomic_store_explicit(&node->is_locked, 1, memory_order_relaxed);
            atomic_store_explicit(&before->next, node, memory_order_release);
            while (atomic_load_explicit(&node->is_locked, memory_order_acquire))
                pause_cpu();
        }
        struct node *after = atomic_load_explicit(&node->next, memory_order_acquire);
        if (after == NULL) {
            struct node *expected = node;
            if (atomic_compare_exchange_strong(&mcs.tail, &expected, NULL))
                continue;
            while ((after = atomic_load_explicit(&node->next, memory_order_acquire)) == NULL)
                pause_cpu();
        }
        atomic_store_explicit(&after->is_locked, 0, memory_order_release);
    }
}

static void enter(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++) {
        while (atomic_exchange_explicit(&guarded.is_taken, 1, memory_order_acquire))
            while (atomic_load_explicit(&guarded.is_taken, memory_order_relaxed))
                pause_cpu();
        guarded.entries++;
        guarded.last = task;
        atomic_store_explicit(&guarded.is_taken, 0, memory_order_release);
    }
}

static bool has_counted(int tasks, long turns)
{
    return guarded.entries == tasks * turns;
}

const struct kind locks[] = {
    {"ticket", take_ticket, NULL},
    {"mcs", queue_up, NULL},
    {"guarded", enter, has_counted},
    {NULL, NULL, NULL},
};
