/* The median of a sample, and a distribution-free confidence interval for it. */
#ifndef FAULTLINE_BENCH_MEDIAN_H
#define FAULTLINE_BENCH_MEDIAN_H

#include <stddef.h>

struct median {
    double value;
    double low;   /* order statistics that enclose the true median with at least 95 % confidence */
    double high;
};

/*
 * Sorts `values`; count > 0. With fewer than 6 values the interval is the whole range, at a lower
 * confidence level.
 */
struct median median_of(double *values, size_t count);

#endif
