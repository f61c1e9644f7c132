/* The functions of called.h. None of them ends with its call, which would leave no trace of it on the stack. */
#include "called.h"

#include <stdatomic.h>

_Alignas(64) atomic_long called_hits;

static inline __attribute__((always_inline)) void count(void)
{
    atomic_fetch_add(&called_hits, 1);
}

static __attribute__((noinline)) void inner(void)
{
    count();
    __asm__ volatile("");
}

/* Its frame has another size each time, so that the frame pointer leads to its caller. */
static __attribute__((noinline)) void middle(int bytes)
{
    volatile char room[bytes];

    room[0] = 0;
    inner();
    room[bytes - 1] = 0;
}

__attribute__((noinline)) void outer(int bytes)
{
    middle(bytes);
    __asm__ volatile("");
}
