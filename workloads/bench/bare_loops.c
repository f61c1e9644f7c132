/*
 * The list of bare loops, each with the variant of the workload that it is compared with.
 *
 * Two loops are missing: protect_churn as processes and map_churn as threads. Under the harness they took 8 % longer
 * and 5 % less time than bare, for a reason that is not established. (For an mprotect alone it is known that its time
 * depends on the number of other mappings of the process.) The bare loop of protect_churn as threads needs no second
 * thread, because with one task the address space is shared with nothing that runs.
 */
#include "bench/bare.h"

#include <stdio.h>
#include <unistd.h>

const struct bare_loop bare_loops[] = {
    {"zero_fill", "base", bare_nothing_setup, bare_zero_fill_base},
    {"zero_fill", "huge", bare_nothing_setup, bare_zero_fill_huge},
    {"fault_existing", "shared", bare_object_setup, bare_fault_read},
    {"fault_existing", "shared-write", bare_object_setup, bare_fault_write},
    {"fault_existing", "own", bare_object_setup, bare_fault_read},
    {"fault_existing", "own-write", bare_object_setup, bare_fault_write},
    {"file_cow", "same", bare_file_setup, bare_file_cow},
    {"file_cow", "own", bare_file_setup, bare_file_cow},
    {"path_stat", "distinct", bare_stat_one_setup, bare_stat},
    {"path_stat", "shared-dir", bare_stat_two_setup, bare_stat},
    {"path_stat", "deep", bare_stat_deep_setup, bare_stat},
    {"fork_exit", "small", bare_nothing_setup, bare_fork},
    {"fork_exit", "large", bare_large_setup, bare_fork},
    {"map_churn", "processes", bare_nothing_setup, bare_map},
    {"protect_churn", "threads", bare_protect_setup, bare_protect},
};

const size_t bare_loop_count = sizeof bare_loops / sizeof bare_loops[0];

void bare_fail(const char *step)
{
    perror(step);
    _exit(71);
}

void bare_nothing_setup(const struct bare_conditions *conditions)
{
    (void)conditions;
}
