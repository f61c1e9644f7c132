/* See median.h. */
#include "median.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Each value lies below the median with probability 1/2, so the number of values below it is
 * binomial(n, 1/2). The largest rank r with P(fewer than r below) <= 2.5 % bounds the interval on
 * either side (the inverted sign test).
 */
static size_t interval_rank(size_t count)
{
    double below = 0;
    double term = exp2(-(double)count);
    size_t rank = 0;
    while (rank < count / 2 && below + term <= 0.025) {
        below += term;
        rank++;
        term *= (double)(count - rank + 1) / (double)rank;
    }
    return rank > 0 ? rank : 1;
}

struct median median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    size_t rank = interval_rank(count);
    return (struct median){
        .value = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .low = values[rank - 1],
        .high = values[count - rank],
    };
}
