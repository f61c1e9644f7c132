/* counters TASKS TURNS: each task has its own counter: adjacent, or with PADDED a line each. */
#include "crew.h"

#ifdef PADDED
#define OWN _Alignas(LINE)
#else
#define OWN
#endif

static struct {
    OWN atomic_long hits;
} counter[MOST_TASKS] __attribute__((aligned(LINE)));

static long turns;

static void work(int task)
{
    for (long turn = 0; turn < turns; turn++)
        atomic_fetch_add(&counter[task].hits, 1);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    turns = atol(argv[2]);
    return crew_run(atoi(argv[1]));
}
