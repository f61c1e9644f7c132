/*
 * The workload's self-description: for the lab (`faultline-describe 1`) and for people. Both print
 * and exit with 0.
 */
#ifndef FAULTLINE_DESCRIBE_H
#define FAULTLINE_DESCRIBE_H

#include "workload.h"

/* Smallest and largest --size. */
uint64_t describe_least_size(const struct plan *plan);
uint64_t describe_most_size(const struct workload *workload);

_Noreturn void describe_print(const struct workload *workload);
_Noreturn void describe_help(const struct workload *workload);

#endif
