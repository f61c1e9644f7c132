/* A library that `loaded` loads at run time. */
#include "plugged.h"

static struct counts {
    long hits;
    long misses;
} counts;

void plugged_count(int turns)
{
    for (int turn = 0; turn < turns; turn++)
        __atomic_fetch_add(&counts.hits, 1, __ATOMIC_RELAXED); /* the library's hot line */
}
