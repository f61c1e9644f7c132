/* See fault_check.h. */
#include "fault_check.h"

#include "protocol.h"

void fault_check_note(const struct plan *plan, const struct region *region)
{
    (void)plan;
    if (!region->usage_of_window || region->usage_operations == 0)
        return;
    /* Linux calls a fault major also when it had to wait for a page's lock and try again: count both kinds. */
    uint64_t faults = region->usage.minor_faults + region->usage.major_faults;
    protocol_line("note faults_per_operation %.3f", (double)faults / (double)region->usage_operations);
}
