/*
 * The functions of called.h. None ends in a tail call, which would leave no trace of it on the
 * stack.
 */
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

/* The frame size varies, so its caller can only be found through the frame pointer. */
static __attribute__((noinline)) void middle(int bytes)
{
    char room[bytes];

    __asm__ volatile("" : : "r"(room) : "memory");
    inner();
    __asm__ volatile("" : : "r"(room) : "memory");
}

__attribute__((noinline)) void outer(int bytes)
{
    middle(bytes);
    __asm__ volatile("");
}
