/*
 * starter PATH: begins the region, allocates large blocks, executes PATH in a child, and ends the
 * region. Without arguments: two threads increment a counter in a small block. If PATH is this
 * program under another name, the first blocks of both have one address without randomisation.
 */
#include "faultline_mark.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE_BYTES 200
#define SMALL_BYTES 72
#define TURNS 2000

static int ready;

static void *increment(void *counter)
{
    __atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < 2)
        __builtin_ia32_pause();
    for (int turn = 0; turn < TURNS; turn++)
        __atomic_fetch_add((long *)counter, 1, __ATOMIC_RELAXED);
    return NULL;
}

static int count(void)
{
    pthread_t other;
    long *block = calloc(1, SMALL_BYTES);

    if (!block || pthread_create(&other, NULL, increment, &block[2]) != 0)
        return 1;
    increment(&block[2]);
    return pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    char *block;
    int status = 1;

    if (argc != 2)
        return count();
    faultline_mark_begin();
    block = calloc(1, LARGE_BYTES);
    if (block && fork() == 0) {
        execl(argv[1], argv[1], (char *)NULL);
        _exit(1);
    }
    wait(&status);
    faultline_mark_end();
    /* Used until here, so that the compiler keeps the block. */
    return block && block[0] == 0 ? status : 1;
}
