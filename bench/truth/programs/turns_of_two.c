/*
 * Tasks 0 and 1 take turns, and sleep meanwhile; further tasks do nothing. A task alone does what
 * both would do, and never waits.
 *
 * turn_condition   by a condition variable
 * turn_semaphores  by two semaphores
 * turn_pipes       a byte through two pipes
 * turn_barrier     all tasks meet at a barrier of the C library
 * turn_spinning    by one word, without sleeping
 */
#include "truth.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static struct {
    _Alignas(LINE) pthread_mutex_t lock;
    pthread_cond_t passed;
    volatile long turn;
} by_condition = {.lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};
static struct {
    _Alignas(LINE) sem_t of[2];
} by_semaphores;
static int pipes[2][2];
static pthread_barrier_t barriers[2];
static _Alignas(LINE) atomic_long by_word;

static void __attribute__((constructor)) first_may_begin(void)
{
    sem_init(&by_semaphores.of[0], 0, 1);
    sem_init(&by_semaphores.of[1], 0, 0);
    pthread_barrier_init(&barriers[0], NULL, 1);
    pthread_barrier_init(&barriers[1], NULL, 2);
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0 || write(pipes[0][1], "", 1) != 1)
        _exit(1);
}

static int next(int task, int tasks)
{
    return tasks == 1 ? task : 1 - task;
}

static void turn_condition(int task, int tasks, long turns)
{
    for (long i = 0; i < turns && task < 2; i++) {
        pthread_mutex_lock(&by_condition.lock);
        while (tasks > 1 && by_condition.turn % 2 != task)
            pthread_cond_wait(&by_condition.passed, &by_condition.lock);
        by_condition.turn++;
        pthread_cond_signal(&by_condition.passed);
        pthread_mutex_unlock(&by_condition.lock);
    }
}

static void turn_semaphores(int task, int tasks, long turns)
{
    for (long i = 0; i < turns && task < 2; i++) {
        sem_wait(&by_semaphores.of[task]);
        sem_post(&by_semaphores.of[next(task, tasks)]);
    }
}

static void turn_pipes(int task, int tasks, long turns)
{
    char byte;
    for (long i = 0; i < turns && task < 2; i++)
        if (read(pipes[task][0], &byte, 1) != 1 || write(pipes[next(task, tasks)][1], &byte, 1) != 1)
            _exit(1);
}

static void turn_barrier(int task, int tasks, long turns)
{
    for (long i = 0; i < turns && task < 2; i++)
        pthread_barrier_wait(&barriers[tasks > 1]);
}

static void turn_spinning(int task, int tasks, long turns)
{
    for (long i = 0; i < turns && task < 2; i++) {
        while (tasks > 1 && atomic_load_explicit(&by_word, memory_order_acquire) % 2 != task)
            pause_cpu();
        atomic_store_explicit(&by_word, by_word + 1, memory_order_release);
    }
}

const struct kind turns_of_two[] = {
    {"turn_condition", turn_condition, NULL},
    {"turn_semaphores", turn_semaphores, NULL},
    {"turn_pipes", turn_pipes, NULL},
    {"turn_barrier", turn_barrier, NULL},
    {"turn_spinning", turn_spinning, NULL},
    {NULL, NULL, NULL},
};
