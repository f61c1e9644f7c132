// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A team of threads that start a loop together. The region of interest covers only the loop: thread creation, waiting
 * for the others and thread exit lie outside it, and the main thread sleeps meanwhile. Apart from the loop, each thread
 * fetches the start signal and reports that it is done, and the last one ends the region: at most four transfers per
 * thread.
 */
#ifndef TEAM_H
#define TEAM_H

#include "faultline_mark.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE 64
#define ALIGNED _Alignas(LINE)

struct team {
    ALIGNED atomic_int ready;
    ALIGNED atomic_int go;
    ALIGNED atomic_int done;
    ALIGNED atomic_int leave;
    ALIGNED int tasks;
};

static struct team team;

typedef void loop(int task, long iterations);

struct member {
    loop *loop;
    int task;
    long iterations;
};

static inline void pause_cpu(void)
{
    __builtin_ia32_pause();
}

/*
 * Separate functions: a translation block ends after the mark, and what follows the mark in its block is not counted.
 */
static __attribute__((noinline)) void region_begin(void)
{
    faultline_mark_begin();
}

static __attribute__((noinline)) void region_end(void)
{
    faultline_mark_end();
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    loop *body = member->loop;
    int task = member->task;
    long iterations = member->iterations;

    atomic_fetch_add(&team.ready, 1);
    while (!atomic_load(&team.go))
        pause_cpu();
    body(task, iterations);
    if (atomic_fetch_add(&team.done, 1) + 1 == team.tasks) {
        region_end();
        atomic_store(&team.leave, 1);
    }
    while (!atomic_load(&team.leave))
        pause_cpu();
    return NULL;
}

static void team_run(int tasks, long iterations, loop *body)
{
    pthread_t *threads = calloc(tasks, sizeof *threads);
    struct member *members = calloc(tasks, sizeof *members);

    team.tasks = tasks;
    for (int task = 0; task < tasks; task++) {
        members[task] = (struct member){body, task, iterations};
        if (pthread_create(&threads[task], NULL, member_main, &members[task]) != 0)
            abort();
    }
    while (atomic_load(&team.ready) != tasks)
        usleep(500);
    region_begin();
    atomic_store(&team.go, 1);
    for (int task = 0; task < tasks; task++)
        pthread_join(threads[task], NULL);
    free(members);
    free(threads);
}

#endif
