// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring SLOTS ITEMS: one producer and one consumer with a ring of SLOTS slots, eight per line. Head and tail have
 * separate lines. Each end keeps a copy of the other's position and reads it again only when the ring seems full or
 * empty. Both move eight items at a time, so lines of slots move as a whole. ITEMS is a multiple of 8.
 */
#include "team.h"

#define BATCH 8
#define MOST_SLOTS 1024

static ALIGNED atomic_long head;
static ALIGNED atomic_long tail;
static ALIGNED volatile long slots[MOST_SLOTS];
static ALIGNED long slot_count;

static void produce(long items)
{
    long size = slot_count;
    long seen = 0;
    for (long item = 0; item < items; item += BATCH) {
        while (item + BATCH - seen > size) {
            pause_cpu();
            seen = atomic_load_explicit(&head, memory_order_acquire);
        }
        for (int i = 0; i < BATCH; i++)
            slots[(item + i) % size] = item;
        atomic_store_explicit(&tail, item + BATCH, memory_order_release);
    }
}

static void consume(long items)
{
    long size = slot_count;
    long seen = 0;
    for (long item = 0; item < items; item += BATCH) {
        while (seen - item < BATCH) {
            pause_cpu();
            seen = atomic_load_explicit(&tail, memory_order_acquire);
        }
        for (int i = 0; i < BATCH; i++)
            (void)slots[(item + i) % size];
        atomic_store_explicit(&head, item + BATCH, memory_order_release);
    }
}

static void work(int task, long items)
{
    if (task == 0)
        produce(items);
    else
        consume(items);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    slot_count = atol(argv[1]);
    if (slot_count < BATCH || slot_count > MOST_SLOTS || slot_count % BATCH != 0)
        return 64;
    team_run(2, atol(argv[2]), work);
    printf("%lu %lu\n", (unsigned long)slots, (unsigned long)(slots + slot_count));
    return 0;
}
