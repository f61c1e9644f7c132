/*
 * Tasks that pass items to each other. A task alone puts each item in and takes it out.
 *
 * spsc      task 0 sends to task 1 through a ring of 256 places; head and tail have lines of
 *           their own
 * batches   like spsc, with eight items at a time: a line of them
 * many      all tasks send and receive through one bounded queue (Vyukov)
 * stealing  each task pushes to and pops from its own deque (Chase and Lev); every
 *           sixteenth turn it steals from its neighbour's
 */
#include "truth.h"

#define PLACES 256

static struct {
    _Alignas(LINE) atomic_long head;
    _Alignas(LINE) atomic_long tail;
    _Alignas(LINE) volatile long items[PLACES];
} spsc, batches;
static struct {
    _Alignas(LINE) atomic_long sent;
    _Alignas(LINE) atomic_long received;
    struct {
        _Alignas(LINE) atomic_long turn;
        volatile long item;
    } cells[PLACES];
} many;
static struct {
    _Alignas(LINE) atomic_long top;
    _Alignas(LINE) atomic_long bottom;
    _Alignas(LINE) atomic_long items[PLACES];
} stealing[MOST_TASKS];

static void __attribute__((constructor)) number_cells(void)
{
    for (long i = 0; i < PLACES; i++)
        many.cells[i].turn = i;
}

typedef struct {
    atomic_long *head, *tail;
    volatile long *items;
} ring;

static void put(ring ring, long number, long item)
{
    for (long tail = *ring.tail; number > 0; tail += number) {
        long room;
        while ((room = PLACES - (tail - atomic_load_explicit(ring.head, memory_order_acquire))) < number)
            pause_cpu();
        for (long i = 0; i < number; i++)
            ring.items[(tail + i) % PLACES] = item;
        atomic_store_explicit(ring.tail, tail + number, memory_order_release);
        return;
    }
}

static void get(ring ring, long number)
{
    long head = *ring.head;
    while (atomic_load_explicit(ring.tail, memory_order_acquire) - head < number)
        pause_cpu();
    for (long i = 0; i < number; i++)
        (void)ring.items[(head + i) % PLACES];
    atomic_store_explicit(ring.head, head + number, memory_order_release);
}

static void pass(ring ring, int task, int tasks, long turns, long number)
{
    for (long i = 0; i + number <= turns && task < 2; i += number) {
        if (task == 0)
            put(ring, number, i);
        if (task == 1 || tasks == 1)
            get(ring, number);
    }
}

static void pass_one(int task, int tasks, long turns)
{
    pass((ring){&spsc.head, &spsc.tail, spsc.items}, task, tasks, turns, 1);
}

static void pass_eight(int task, int tasks, long turns)
{
    pass((ring){&batches.head, &batches.tail, batches.items}, task, tasks, turns, 8);
}

static void send_and_receive(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        long place = atomic_fetch_add(&many.sent, 1);
        while (atomic_load_explicit(&many.cells[place % PLACES].turn, memory_order_acquire) != place)
            pause_cpu();
        many.cells[place % PLACES].item = i;
        atomic_store_explicit(&many.cells[place % PLACES].turn, place + 1, memory_order_release);
        place = atomic_fetch_add(&many.received, 1);
        while (atomic_load_explicit(&many.cells[place % PLACES].turn, memory_order_acquire) != place + 1)
            pause_cpu();
        (void)many.cells[place % PLACES].item;
        atomic_store_explicit(&many.cells[place % PLACES].turn, place + PLACES, memory_order_release);
    }
}

static void push(int task, long item)
{
    long bottom = atomic_load_explicit(&stealing[task].bottom, memory_order_relaxed);
    atomic_store_explicit(&stealing[task].items[bottom % PLACES], item, memory_order_relaxed);
    atomic_store_explicit(&stealing[task].bottom, bottom + 1, memory_order_release);
}

static void pop(int task)
{
    long bottom = atomic_load_explicit(&stealing[task].bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&stealing[task].bottom, bottom, memory_order_seq_cst);
    long top = atomic_load_explicit(&stealing[task].top, memory_order_seq_cst);
    if (top < bottom)
        return;
    if (top == bottom)
        atomic_compare_exchange_strong(&stealing[task].top, &top, top + 1);
    atomic_store_explicit(&stealing[task].bottom, bottom + 1, memory_order_relaxed);
}

static void steal(int task)
{
    long top = atomic_load_explicit(&stealing[task].top, memory_order_seq_cst);
    if (top < atomic_load_explicit(&stealing[task].bottom, memory_order_acquire))
        atomic_compare_exchange_strong(&stealing[task].top, &top, top + 1);
}

static void work_and_steal(int task, int tasks, long turns)
{
    for (long i = 0; i < turns; i++) {
        push(task, i);
        compute(50);
        if (i % 16 == 0 && tasks > 1)
            steal((task + 1) % tasks);
        pop(task);
    }
}

const struct kind passing[] = {
    {"spsc", pass_one, NULL},
    {"batches", pass_eight, NULL},
    {"many", send_and_receive, NULL},
    {"stealing", work_and_steal, NULL},
    {NULL, NULL, NULL},
};
