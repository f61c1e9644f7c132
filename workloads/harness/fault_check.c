/* See fault_check.h. */
#include "fault_check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "failure.h"
#include "protocol.h"

/*
 * Allowed difference between the numbers of faults and of operations. Beyond 2 %, a figure would no
 * longer mean what it claims. A few faults of each task's own are added, which matter if there are
 * few operations. A system that behaved as requested stayed within one in a thousand, busy or idle:
 * a fault that waits for a page's lock is counted once, when it completes, and everything else that
 * a task touches in its loop is resident. If the bound is exceeded, the system maps more or less
 * with one fault than was requested.
 */
enum { ALLOWED_PART = 50, ALLOWED_FAULTS_PER_TASK = 16 };

/*
 * Linux also calls a fault major if it had to wait for a page's lock and try again, so both kinds
 * count.
 */
static uint64_t faults_of(const struct region *region)
{
    return region->usage.minor_faults + region->usage.major_faults;
}

/* gVisor reports no faults. But every process has some. */
static bool system_counts_faults(void)
{
    struct rusage own;
    return getrusage(RUSAGE_SELF, &own) == 0 && own.ru_minflt + own.ru_majflt > 0;
}

static bool is_known(const struct region *region)
{
    return region->usage_of_window && region->usage_operations > 0 && system_counts_faults();
}

static double faults_per_operation(const struct region *region)
{
    return (double)faults_of(region) / (double)region->usage_operations;
}

/*
 * Without the usage of single threads, the process's usage covers a different period than its
 * threads' operations.
 */
static bool stretches_match(const struct plan *plan)
{
#if defined(RUSAGE_THREAD)
    (void)plan;
    return true;
#else
    return plan->mode == MODE_PROCESS;
#endif
}

/*
 * The address sanitizer has one byte for every eight bytes of memory. From gcc 14 on, it clears
 * these bytes at each mapping, which costs one more fault for every eight pages.
 */
static bool faults_are_the_loops_own(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    return true;
#endif
}

void fault_check_note(const struct plan *plan, const struct region *region)
{
    (void)plan;
    if (is_known(region))
        protocol_line("note faults_per_operation %.3f", faults_per_operation(region));
    else if (!system_counts_faults())
        protocol_line("note faults uncounted");
}

/* True if the number of faults can be compared with the number of operations. */
static bool is_checked(const struct plan *plan, const struct region *region)
{
    return is_known(region) && stretches_match(plan) && faults_are_the_loops_own();
}

static uint64_t allowed_apart(const struct plan *plan, const struct region *region)
{
    return region->usage_operations / ALLOWED_PART + (uint64_t)ALLOWED_FAULTS_PER_TASK * plan->tasks;
}

void fault_check_demand_one(const struct plan *plan, const struct region *region, const char *step)
{
    fault_check_note(plan, region);
    if (!is_checked(plan, region))
        return;
    uint64_t faults = faults_of(region);
    uint64_t operations = region->usage_operations;
    uint64_t apart = faults > operations ? faults - operations : operations - faults;
    if (apart > allowed_apart(plan, region))
        failure_unsupported(step, "the system took %.3f faults per operation instead of one",
                            faults_per_operation(region));
}

void fault_check_demand_pages(const struct plan *plan, const struct region *region, const char *step)
{
    fault_check_note(plan, region);
    if (!is_checked(plan, region))
        return;
    uint64_t faults = faults_of(region);
    uint64_t pages = region->usage_operations;
    if (faults > pages + allowed_apart(plan, region))
        failure_unsupported(step, "the system took %.3f faults per page instead of at most one",
                            faults_per_operation(region));
    if (faults < pages / FAULT_CHECK_PAGES_MAX)
        failure_unsupported(step, "the system took %" PRIu64 " faults for %" PRIu64 " pages: they were mapped before",
                            faults, pages);
}
