/*
 * Primitives of the C library with which tasks sleep in the kernel while they wait for each other.
 *
 * futex_mutex  each task locks one mutex, increments a number, and unlocks the mutex
 * condition    tasks 0 and 1 take turns, using a condition variable and mutex; others do nothing
 * semaphores   tasks 0 and 1 take turns, using two semaphores; others do nothing
 * rwlock       all tasks acquire one lock for reading, and release it
 */
#include "kinds.h"

#include <pthread.h>
#include <semaphore.h>

static struct {
    _Alignas(LINE) pthread_mutex_t lock;
    _Alignas(LINE) volatile long count;
} futex_mutex = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    _Alignas(LINE) pthread_mutex_t lock;
    _Alignas(LINE) pthread_cond_t passed;
    _Alignas(LINE) volatile long turn;
} condition = {.lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};

static struct {
    _Alignas(LINE) sem_t first;
    _Alignas(LINE) sem_t second;
} semaphores;

static struct {
    _Alignas(LINE) pthread_rwlock_t lock;
    _Alignas(LINE) volatile long word;
} rwlock = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static void __attribute__((constructor)) first_may_begin(void)
{
    sem_init(&semaphores.first, 0, 1);
    sem_init(&semaphores.second, 0, 0);
}

static void lock(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&futex_mutex.lock);
        futex_mutex.count++;
        pthread_mutex_unlock(&futex_mutex.lock);
    }
}

static bool has_counted(int tasks, long turns)
{
    return futex_mutex.count == tasks * turns;
}

static void pass(int task, int tasks, long turns)
{
    if (tasks < 2 || task > 1)
        return;
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&condition.lock);
        while (condition.turn % 2 != task)
            pthread_cond_wait(&condition.passed, &condition.lock);
        condition.turn++;
        pthread_mutex_unlock(&condition.lock);
        /* Signal after unlocking, so that the woken task never finds the lock held. */
        pthread_cond_signal(&condition.passed);
    }
}

static void post(int task, int tasks, long turns)
{
    if (tasks < 2 || task > 1)
        return;
    for (long i = 0; i < turns; i++) {
        sem_wait(task == 0 ? &semaphores.first : &semaphores.second);
        sem_post(task == 0 ? &semaphores.second : &semaphores.first);
    }
}

static void read_locked(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        pthread_rwlock_rdlock(&rwlock.lock);
        (void)rwlock.word;
        pthread_rwlock_unlock(&rwlock.lock);
    }
}

const struct kind sleepers[] = {
    {"futex_mutex", lock, has_counted},
    {"condition", pass, NULL},
    {"semaphores", post, NULL},
    {"rwlock", read_locked, NULL},
    {NULL, NULL, NULL},
};
