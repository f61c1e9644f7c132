/* The monotonic clock, in nanoseconds since the program started. */
#ifndef FAULTLINE_CLOCK_H
#define FAULTLINE_CLOCK_H

#include <stdint.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* Sets the origin. Call it once, first in main. */
void clock_start(void);
uint64_t clock_now_ns(void);

#endif
