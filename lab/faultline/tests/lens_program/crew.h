/*
 * Threads that begin a loop at once. The region of interest lies around the loop alone: the first thread of the program, which
 * begins it, sleeps until all are done, and the last one to be done ends it. Apart from the loop each thread fetches the start signal and
 * says that it is done, and the last one ends the region: at most four transfers per thread, all in `crew`.
 */
#ifndef CREW_H
#define CREW_H

#include "faultline_mark.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_TASKS 32

/* A cache line. */
#define LINE 64

static struct {
    _Alignas(LINE) atomic_int ready;
    _Alignas(LINE) atomic_int go;
    _Alignas(LINE) atomic_int left;
    _Alignas(LINE) atomic_int leave;
} crew;

/* What a task does. */
static void work(int task);

/* Functions of their own: what comes after a mark begins with a block of instructions of its own. */
static __attribute__((noinline)) void region_begin(void)
{
    faultline_mark_begin();
}

static __attribute__((noinline)) void region_end(void)
{
    faultline_mark_end();
}

static void *member(void *task)
{
    atomic_fetch_add(&crew.ready, 1);
    while (!atomic_load(&crew.go))
        __builtin_ia32_pause();
    work((int)(long)task);
    if (atomic_fetch_sub(&crew.left, 1) == 1) {
        region_end();
        atomic_store(&crew.leave, 1);
    }
    while (!atomic_load(&crew.leave))
        __builtin_ia32_pause();
    return NULL;
}

static int crew_run(int tasks)
{
    pthread_t threads[MOST_TASKS];

    if (tasks < 1 || tasks > MOST_TASKS)
        return 64;
    crew.left = tasks;
    for (int task = 0; task < tasks; task++)
        if (pthread_create(&threads[task], NULL, member, (void *)(long)task) != 0)
            return 1;
    while (atomic_load(&crew.ready) != tasks)
        usleep(500);
    region_begin();
    atomic_store(&crew.go, 1);
    for (int task = 0; task < tasks; task++)
        pthread_join(threads[task], NULL);
    return 0;
}

#endif
