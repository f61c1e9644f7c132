/* See clock.h. */
#include "clock.h"

#include <time.h>

static uint64_t origin_ns;

static uint64_t monotonic_ns(void)
{
    /* Cannot fail: CLOCK_MONOTONIC exists on every supported system, and the pointer is valid. */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void clock_start(void)
{
    origin_ns = monotonic_ns();
}

uint64_t clock_now_ns(void)
{
    return monotonic_ns() - origin_ns;
}
