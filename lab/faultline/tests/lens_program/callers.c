/* callers TASKS TURNS: all tasks increment one counter, through nested function calls. */
#include "called.h"
#include "crew.h"

static long turns;

static void work(int task)
{
    for (long turn = 0; turn < turns; turn++)
        outer(64 + 16 * ((int)turn % 32 + task));
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    turns = atol(argv[2]);
    return crew_run(atoi(argv[1]));
}
