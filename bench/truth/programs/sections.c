/*
 * Locks of the C library on which tasks sleep, with what they protect.
 *
 * mutex_long    a mutex with a section of about 4000 instructions
 * mutex_rare    a mutex with a short section, and about 20,000 instructions between two of them
 * mutex_own     each task has a mutex of its own
 * rwlock_mixed  a lock that is taken to write every sixteenth time
 * queue         a queue of numbers under a mutex: each task puts one and takes one
 */
#include "truth.h"

#include <pthread.h>

struct guarded {
    _Alignas(LINE) pthread_mutex_t lock;
    _Alignas(LINE) volatile long count;
};

static struct guarded mutex_long = {.lock = PTHREAD_MUTEX_INITIALIZER}, mutex_rare = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct guarded mutex_own[MOST_TASKS];
static struct {
    _Alignas(LINE) pthread_rwlock_t lock;
    _Alignas(LINE) volatile long word;
} rwlock_mixed = {.lock = PTHREAD_RWLOCK_INITIALIZER};

#define PLACES 256

static struct {
    _Alignas(LINE) pthread_mutex_t lock;
    long first, end;
    long items[PLACES];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void __attribute__((constructor)) make_locks(void)
{
    for (int task = 0; task < MOST_TASKS; task++)
        pthread_mutex_init(&mutex_own[task].lock, NULL);
}

static void use(struct guarded *one, long within, long between, long turns)
{
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&one->lock);
        one->count++;
        compute(within);
        pthread_mutex_unlock(&one->lock);
        compute(between);
    }
}

static void hold_long(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    use(&mutex_long, 2000, 0, turns);
}

static void take_rarely(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    use(&mutex_rare, 0, 10000, turns);
}

static void take_own(int task, int tasks, long turns)
{
    (void)tasks;
    use(&mutex_own[task], 0, 0, turns);
}

static void read_and_write(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        if (i % 16 == 0) {
            pthread_rwlock_wrlock(&rwlock_mixed.lock);
            rwlock_mixed.word++;
        } else {
            pthread_rwlock_rdlock(&rwlock_mixed.lock);
            (void)rwlock_mixed.word;
        }
        pthread_rwlock_unlock(&rwlock_mixed.lock);
    }
}

static void put_and_take(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&queue.lock);
        queue.items[queue.end++ % PLACES] = i;
        pthread_mutex_unlock(&queue.lock);
        pthread_mutex_lock(&queue.lock);
        (void)*(volatile long *)&queue.items[queue.first++ % PLACES];
        pthread_mutex_unlock(&queue.lock);
    }
}

const struct kind sections[] = {
    {"mutex_long", hold_long, NULL},
    {"mutex_rare", take_rarely, NULL},
    {"mutex_own", take_own, NULL},
    {"rwlock_mixed", read_and_write, NULL},
    {"queue", put_and_take, NULL},
    {NULL, NULL, NULL},
};
