/*
 * Threads that start a loop together. The region of interest covers only the loop. The program's
 * first thread begins the region, and sleeps until all threads are done. The last thread ends it.
 * Outside the loop, each thread fetches the start signal and reports that it is done, and the last
 * one ends the region: at most four transfers per thread, all in `crew`.
 */
#ifndef CREW_H
#define CREW_H

#include "faultline_mark.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_TASKS 32

#define LINE 64 /* bytes of a cache line */

static struct {
    _Alignas(LINE) atomic_int ready;
    _Alignas(LINE) atomic_int go;
    _Alignas(LINE) atomic_int left;
    _Alignas(LINE) atomic_int leave;
} crew;

/* The work of a task. */
static void work(int task);

/* Separate functions, so that the code after a mark starts a new block of instructions. */
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
