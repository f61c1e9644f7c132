/*
 * theory TASKS TURNS KIND…: tasks run the given kinds of work in sequence. Before each, they
 * synchronise without sleeping.
 */
#include "../crew.h"
#include "kinds.h"

#include <string.h>

#define MOST_KINDS 32

static const struct kind *const families[] = {counters, locks, queues, sleepers};

static const struct kind *chosen[MOST_KINDS];
static int chosen_count;
static int tasks;
static long turns;

static struct {
    _Alignas(LINE) atomic_int arrived;
    _Alignas(LINE) atomic_int met;
} meeting;

static void meet(int number)
{
    if (atomic_fetch_add(&meeting.arrived, 1) + 1 == number * tasks)
        atomic_store(&meeting.met, number);
    while (atomic_load(&meeting.met) < number)
        pause_cpu();
}

static void work(int task)
{
    for (int i = 0; i < chosen_count; i++) {
        meet(i + 1);
        chosen[i]->work(task, tasks, turns);
    }
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
    if (argc < 4 || argc - 3 > MOST_KINDS)
        return 64;
    tasks = atoi(argv[1]);
    turns = atol(argv[2]);
    for (int i = 3; i < argc; i++)
        if ((chosen[chosen_count++] = find(argv[i])) == NULL)
            return 64;
    int status = crew_run(tasks);
    for (int i = 0; i < chosen_count; i++)
        if (chosen[i]->is_right != NULL && !chosen[i]->is_right(tasks, turns))
            return 1;
    return status;
}
