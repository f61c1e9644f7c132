/*
 * allocate own|foreign TASKS TURNS: each task allocates memory, writes to it, and frees it (own),
 * or frees its neighbour's allocation (foreign).
 */
#include "crew.h"

#include <string.h>

#define BYTES 64
#define HELD 16

static int is_foreign;
static int tasks;
static long turns;

/* Pointers that each task hands to the next, on separate lines. */
static struct {
    _Alignas(LINE) _Atomic(void *) memory;
} handed[MOST_TASKS];

static void *allocated(void)
{
    volatile char *memory = malloc(BYTES);

    memory[0] = 1;
    return (void *)memory;
}

static void use_own(void)
{
    void *held[HELD];

    for (long turn = 0; turn < turns; turn += HELD) {
        for (int i = 0; i < HELD; i++)
            held[i] = allocated();
        for (int i = 0; i < HELD; i++)
            free(held[i]);
    }
}

static void hand_on(int task)
{
    int next = (task + 1) % tasks;

    for (long turn = 0; turn < turns; turn++) {
        void *memory = allocated(), *other;
        while (atomic_load(&handed[next].memory) != NULL)
            __builtin_ia32_pause();
        atomic_store(&handed[next].memory, memory);
        while ((other = atomic_load(&handed[task].memory)) == NULL)
            __builtin_ia32_pause();
        atomic_store(&handed[task].memory, NULL);
        free(other);
    }
}

static void work(int task)
{
    if (is_foreign)
        hand_on(task);
    else
        use_own();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    is_foreign = strcmp(argv[1], "foreign") == 0;
    tasks = atoi(argv[2]);
    turns = atol(argv[3]);
    return crew_run(tasks);
}
