/* The median of a sample and an interval for it that assumes no distribution. */
#ifndef FAULTLINE_BENCH_MEDIAN_H
#define FAULTLINE_BENCH_MEDIAN_H

#include <stddef.h>

struct median {
    double value;
    double low;   /* order statistics that hold the true median between them with at least 95 % confidence */
    double high;
};

/* Sorts `values`; count > 0. With fewer than 6 values the interval is the whole range, of less confidence. */
struct median median_of(double *values, size_t count);

#endif
