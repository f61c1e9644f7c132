/*
 * Queues.
 *
 * `ring`: one producer and one consumer, with a ring of eight slots, which are one line; further
 * tasks do nothing. Head and tail have separate lines. Each end caches the other's position, and
 * reads it again only when the ring seems full or empty. Both move eight items at a time, so the
 * line of slots moves as a whole. An item is a turn; their number is a multiple of 8.
 *
 * `channel`: a bounded queue of many senders and receivers (Vyukov). Each cell is a line.
 * Even-numbered tasks send, and the others receive, if both are equally many.
 *
 * `deque`: each task pushes to and pops from its own deque, which others could steal from (Chase
 * and Lev, "Dynamic circular work-stealing deque", SPAA 2005). `stolen`: all tasks steal from one
 * deque that was filled before.
 */
#include "kinds.h"

#define SLOTS 8

static struct {
    _Alignas(LINE) atomic_long head;
    _Alignas(LINE) atomic_long tail;
    _Alignas(LINE) volatile long slots[SLOTS];
} ring;

static void produce(long items)
{
    long seen = 0;
    for (long item = 0; item < items; item += SLOTS) {
        while (item + SLOTS - seen > SLOTS) {
            pause_cpu();
            seen = atomic_load_explicit(&ring.head, memory_order_acquire);
        }
        for (int i = 0; i < SLOTS; i++)
            ring.slots[i] = item;
        atomic_store_explicit(&ring.tail, item + SLOTS, memory_order_release);
    }
}

static void consume(long items)
{
    long seen = 0;
    for (long item = 0; item < items; item += SLOTS) {
        while (seen - item < SLOTS) {
            pause_cpu();
            seen = atomic_load_explicit(&ring.tail, memory_order_acquire);
        }
        for (int i = 0; i < SLOTS; i++)
            (void)ring.slots[i];
        atomic_store_explicit(&ring.head, item + SLOTS, memory_order_release);
    }
}

static void pass_items(int task, int tasks, long turns)
{
    if (tasks < 2)
        return;
    if (task == 0)
        produce(turns);
    else if (task == 1)
        consume(turns);
}

#define CELLS 64

static struct {
    _Alignas(LINE) atomic_long sent;
    _Alignas(LINE) atomic_long received;
    struct {
        _Alignas(LINE) atomic_long turn;
        long item;
    } cells[CELLS];
} channel;

static void __attribute__((constructor)) empty_channel(void)
{
    for (long i = 0; i < CELLS; i++)
        atomic_init(&channel.cells[i].turn, i);
}

static void send_item(long item)
{
    long place = atomic_fetch_add(&channel.sent, 1);
    while (atomic_load_explicit(&channel.cells[place % CELLS].turn, memory_order_acquire) != place)
        pause_cpu();
    channel.cells[place % CELLS].item = item;
    atomic_store_explicit(&channel.cells[place % CELLS].turn, place + 1, memory_order_release);
}

static long receive_item(void)
{
    long place = atomic_fetch_add(&channel.received, 1);
    while (atomic_load_explicit(&channel.cells[place % CELLS].turn, memory_order_acquire) != place + 1)
        pause_cpu();
    long item = channel.cells[place % CELLS].item;
    atomic_store_explicit(&channel.cells[place % CELLS].turn, place + CELLS, memory_order_release);
    return item;
}

static void send_and_receive(int task, int tasks, long turns)
{
    if (tasks % 2 != 0)
        return;
    for (long i = 0; i < turns; i++)
        if (task % 2 == 0)
            send_item(i);
        else
            (void)receive_item();
}

#define MOST_ITEMS 65536

struct deque_of_one {
    _Alignas(LINE) atomic_long top;
    _Alignas(LINE) atomic_long bottom;
    _Alignas(LINE) atomic_long items[CELLS];
};

static struct {
    struct deque_of_one of[MOST_TASKS];
} deque;

static struct {
    _Alignas(LINE) atomic_long top;
    _Alignas(LINE) atomic_long bottom;
    _Alignas(LINE) atomic_long items[MOST_ITEMS];
} stolen = {.bottom = MOST_ITEMS};

static void push(struct deque_of_one *own, long item)
{
    long bottom = atomic_load_explicit(&own->bottom, memory_order_relaxed);
    atomic_store_explicit(&own->items[bottom % CELLS], item, memory_order_relaxed);
    atomic_store_explicit(&own->bottom, bottom + 1, memory_order_release);
}

static void pop(struct deque_of_one *own)
{
    long bottom = atomic_load_explicit(&own->bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&own->bottom, bottom, memory_order_seq_cst);
    long top = atomic_load_explicit(&own->top, memory_order_seq_cst);
    if (top > bottom) {
        atomic_store_explicit(&own->bottom, bottom + 1, memory_order_relaxed);
        return;
    }
    (void)atomic_load_explicit(&own->items[bottom % CELLS], memory_order_relaxed);
    if (top == bottom) {
        atomic_compare_exchange_strong(&own->top, &top, top + 1);
        atomic_store_explicit(&own->bottom, bottom + 1, memory_order_relaxed);
    }
}

static void use_own(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++) {
        push(&deque.of[task], i);
        pop(&deque.of[task]);
    }
}

static void steal(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns;) {
        long top = atomic_load_explicit(&stolen.top, memory_order_seq_cst);
        if (top >= atomic_load_explicit(&stolen.bottom, memory_order_acquire))
            return;
        (void)atomic_load_explicit(&stolen.items[top], memory_order_relaxed);
        i += atomic_compare_exchange_strong(&stolen.top, &top, top + 1);
    }
}

static bool all_are_stolen(int tasks, long turns)
{
    return stolen.top == (tasks * turns < MOST_ITEMS ? tasks * turns : MOST_ITEMS);
}

const struct kind queues[] = {
    {"ring", pass_items, NULL},
    {"channel", send_and_receive, NULL},
    {"deque", use_own, NULL},
    {"stolen", steal, all_are_stolen},
    {NULL, NULL, NULL},
};
