/*
 * allocated TASKS TURNS: tasks increment counters in memory allocated by the first thread, and in
 * memory allocated by one of them.
 */
#include "crew.h"

#define OF_MAIN_BYTES 72
#define OF_THREAD_BYTES 200

static long turns;
static long *of_main;
static _Atomic(long *) of_thread;

static void work(int task)
{
    long *other;

    if (task == 0)
        atomic_store(&of_thread, calloc(1, OF_THREAD_BYTES));
    while ((other = atomic_load(&of_thread)) == NULL)
        __builtin_ia32_pause();
    for (long turn = 0; turn < turns; turn++) {
        __atomic_fetch_add(&of_main[2], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&other[8], 1, __ATOMIC_RELAXED);
    }
}

int main(int argc, char **argv)
{
    int tasks = argc == 3 ? atoi(argv[1]) : 0;

    if (tasks < 1 || tasks > MOST_TASKS)
        return 64;
    turns = atol(argv[2]);
    of_main = calloc(1, OF_MAIN_BYTES);
    return of_main == NULL ? 1 : crew_run(tasks);
}
