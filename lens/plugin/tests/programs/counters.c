// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counters shared|padded|beside|read TASKS ITERATIONS: counters that tasks share, that have lines of their own, or that
 * lie side by side on one line; or a word that tasks only read. Prints the line's address.
 */
#include "team.h"

#include <stdint.h>
#include <string.h>

static ALIGNED atomic_long shared;
static struct {
    ALIGNED atomic_long count;
} padded[64];
static ALIGNED _Atomic uint16_t beside[32];
static ALIGNED volatile long word;

static void count_shared(int task, long iterations)
{
    (void)task;
    for (long i = 0; i < iterations; i++)
        atomic_fetch_add(&shared, 1);
}

static void count_padded(int task, long iterations)
{
    for (long i = 0; i < iterations; i++)
        atomic_fetch_add(&padded[task].count, 1);
}

static void count_beside(int task, long iterations)
{
    for (long i = 0; i < iterations; i++)
        atomic_fetch_add(&beside[task], 1);
}

static void only_read(int task, long iterations)
{
    if (task == 0)
        word = 1;
    for (long i = 0; i < iterations; i++)
        (void)word;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    int tasks = atoi(argv[2]);
    long iterations = atol(argv[3]);
    void *line;

    if (strcmp(argv[1], "shared") == 0) {
        line = &shared;
        team_run(tasks, iterations, count_shared);
        if (shared != tasks * iterations)
            return 1;
    } else if (strcmp(argv[1], "padded") == 0) {
        line = padded;
        team_run(tasks, iterations, count_padded);
    } else if (strcmp(argv[1], "beside") == 0) {
        line = beside;
        team_run(tasks, iterations, count_beside);
    } else {
        line = (void *)&word;
        team_run(tasks, iterations, only_read);
    }
    printf("%lu\n", (unsigned long)line);
    return 0;
}
