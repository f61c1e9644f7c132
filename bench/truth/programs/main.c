/*
 * truth KIND TASKS TURNS: TASKS tasks, each bound to a CPU, concurrently do TURNS turns of work of
 * this kind, after a few warm-up turns. Prints the nanoseconds from the first beginning to the last
 * end, and the number of preemptions of tasks in that time. Under the lens this is the region of
 * interest.
 */
#define _GNU_SOURCE
#include "faultline_mark.h"
#include "truth.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 64

static const struct kind *const families[] = {
    counters, locks, queues, sleepers, shared_words, more_locks, sections, turns_of_two, passing, own_memory,
};

static const struct kind *chosen;
static int tasks;
static long turns;

static struct {
    _Alignas(LINE) atomic_int ready;
    _Alignas(LINE) atomic_int go;
    _Alignas(LINE) atomic_int left;
    _Alignas(LINE) atomic_int leave;
} crew;

static struct {
    _Alignas(LINE) long began_ns;
    long ended_ns;
    long preempted;
} marks[MOST_TASKS];

/* Separate functions, so that the code after a mark begins a new block of instructions. */
static __attribute__((noinline)) void region_begin(void)
{
    faultline_mark_begin();
}

static __attribute__((noinline)) void region_end(void)
{
    faultline_mark_end();
}

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static long preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* Binds the task to one of the usable CPUs. With fewer CPUs than tasks, it is not bound. */
static void bind_to_cpu(int task)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < tasks)
        return;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && seen++ == task) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

static void *member(void *number)
{
    int task = (int)(long)number;
    bind_to_cpu(task);
    chosen->work(task, tasks, WARM_UP);
    (void)preemptions(), (void)now_ns();
    atomic_fetch_add(&crew.ready, 1);
    while (!atomic_load(&crew.go))
        pause_cpu();
    long before = preemptions();
    marks[task].began_ns = now_ns();
    chosen->work(task, tasks, turns);
    marks[task].ended_ns = now_ns();
    marks[task].preempted = preemptions() - before;
    if (atomic_fetch_sub(&crew.left, 1) == 1) {
        region_end();
        atomic_store(&crew.leave, 1);
    }
    while (!atomic_load(&crew.leave))
        pause_cpu();
    return NULL;
}

/* Waits in short sleeps, so that it takes no CPU time from the tasks. */
static int run(void)
{
    pthread_t threads[MOST_TASKS];
    crew.left = tasks;
    for (long task = 0; task < tasks; task++)
        if (pthread_create(&threads[task], NULL, member, (void *)task) != 0)
            return 1;
    while (atomic_load(&crew.ready) != tasks)
        usleep(100);
    region_begin();
    atomic_store(&crew.go, 1);
    for (int task = 0; task < tasks; task++)
        pthread_join(threads[task], NULL);
    return 0;
}

static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (const struct kind *kind = families[i]; kind->name != NULL; kind++)
            if (strcmp(kind->name, name) == 0)
                return kind;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4 || (chosen = find(argv[1])) == NULL)
        return 64;
    tasks = atoi(argv[2]);
    turns = atol(argv[3]);
    if (tasks < 1 || tasks > MOST_TASKS || turns < 1)
        return 64;
    int status = run();
    if (status != 0 || (chosen->is_right != NULL && !chosen->is_right(tasks, turns + WARM_UP)))
        return 1;
    long began = marks[0].began_ns, ended = marks[0].ended_ns, preempted = 0;
    for (int task = 0; task < tasks; task++) {
        began = marks[task].began_ns < began ? marks[task].began_ns : began;
        ended = marks[task].ended_ns > ended ? marks[task].ended_ns : ended;
        preempted += marks[task].preempted;
    }
    printf("%ld %ld\n", ended - began, preempted);
    return 0;
}
