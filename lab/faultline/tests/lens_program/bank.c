/*
 * bank TASKS TURNS: even-numbered tasks update accounts, odd-numbered tasks update orders. One lock
 * protects both; with SPLIT, orders have their own.
 */
#include "crew.h"

struct lock {
    _Alignas(LINE) atomic_uint next;
    _Alignas(LINE) atomic_uint serving;
};

static struct lock accounts_lock;
#ifdef SPLIT
static struct lock orders_lock;
#else
#define orders_lock accounts_lock
#endif

static long turns;

static void take(struct lock *lock)
{
    unsigned mine = atomic_fetch_add(&lock->next, 1);

    while (atomic_load(&lock->serving) != mine)
        __builtin_ia32_pause();
}

static void give(struct lock *lock)
{
    atomic_store(&lock->serving, atomic_load(&lock->serving) + 1);
}

static void work(int task)
{
    struct lock *lock = task % 2 ? &orders_lock : &accounts_lock;

    for (long turn = 0; turn < turns; turn++) {
        take(lock);
        give(lock);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    turns = atol(argv[2]);
    return crew_run(atoi(argv[1]));
}
