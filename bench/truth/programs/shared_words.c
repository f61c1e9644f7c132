/*
 * Words that tasks share.
 *
 * cas_counter   one counter, by compare-and-swap
 * plain_beside  each task writes a word of its own, without a lock prefix; the words lie on
 *               one line
 * spread        one of 64 counters, each on its own line, in an order of each task's own
 * statistics    each task counts on a line of its own; task 0 adds all of them up every 64 turns
 * seqlock       task 0 writes two words every 256 turns; the others read them under a
 *               sequence number
 */
#include "truth.h"

#define SPREAD 64

static _Alignas(LINE) atomic_long cas_counter;
static struct {
    _Alignas(LINE) volatile long words[MOST_TASKS];
} plain_beside;
static struct {
    _Alignas(LINE) atomic_long count;
} spread[SPREAD];
static struct {
    _Alignas(LINE) atomic_long count;
} statistics[MOST_TASKS];
static struct {
    _Alignas(LINE) atomic_uint sequence;
    volatile long first, second;
} seqlock;

static void count_by_swap(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        long value = atomic_load(&cas_counter);
        while (!atomic_compare_exchange_weak(&cas_counter, &value, value + 1)) {
        }
    }
}

static bool is_sum(int tasks, long turns)
{
    return cas_counter == tasks * turns;
}

static void write_beside(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++)
        plain_beside.words[task]++;
}

static void count_spread(int task, int tasks, long turns)
{
    (void)tasks;
    unsigned long state = 88172645463325252UL + (unsigned long)task;
    for (long i = 0; i < turns; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        atomic_fetch_add(&spread[state % SPREAD].count, 1);
    }
}

static void count_and_add_up(int task, int tasks, long turns)
{
    volatile long sum = 0;
    for (long i = 0; i < turns; i++) {
        atomic_fetch_add(&statistics[task].count, 1);
        if (task == 0 && i % 64 == 0)
            for (int other = 0; other < tasks; other++)
                sum += atomic_load(&statistics[other].count);
    }
}

static void read_by_sequence(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++) {
        if (task == 0 && i % 256 == 0) {
            atomic_fetch_add(&seqlock.sequence, 1);
            seqlock.first = seqlock.second = i;
            atomic_fetch_add(&seqlock.sequence, 1);
        }
        unsigned before;
        do {
            while ((before = atomic_load(&seqlock.sequence)) % 2 != 0)
                pause_cpu();
            (void)seqlock.first, (void)seqlock.second;
        } while (atomic_load(&seqlock.sequence) != before);
    }
}

const struct kind shared_words[] = {
    {"cas_counter", count_by_swap, is_sum},
    {"plain_beside", write_beside, NULL},
    {"spread", count_spread, NULL},
    {"statistics", count_and_add_up, NULL},
    {"seqlock", read_by_sequence, NULL},
    {NULL, NULL, NULL},
};
