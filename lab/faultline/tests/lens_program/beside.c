/*
 * Threads started in the usual way: created in sequence, then blocked at a barrier, without
 * spinning. Then each increments its own counter on a line that all share.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "faultline_mark.h"

enum { THREADS_MAX = 8 };

static _Alignas(64) _Atomic long hits[THREADS_MAX];
static long turns;
static pthread_barrier_t ready;

static void *work(void *argument)
{
    _Atomic long *own = argument;
    pthread_barrier_wait(&ready);
    for (long i = 0; i < turns; i++)
        atomic_fetch_add(own, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    pthread_t id[THREADS_MAX];

    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    turns = atol(argv[2]);
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    faultline_mark_begin();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&id[i], NULL, work, &hits[i]) != 0)
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
    faultline_mark_end();
    return 0;
}
