/* Check of fault loops: one fault per operation, or per several pages of it. */
#ifndef FAULTLINE_FAULT_CHECK_H
#define FAULTLINE_FAULT_CHECK_H

#include "coordinator.h"

/* Prints `note faults_per_operation X.XXX` if usage is of the window. For workload.conclude. */
void fault_check_note(const struct plan *plan, const struct region *region);

/*
 * Prints the note. Then exits by failure_unsupported(step, …) unless one operation was one fault,
 * if that can be checked (not under the address sanitizer).
 */
void fault_check_demand_one(const struct plan *plan, const struct region *region, const char *step);

/* Maximum number of pages mapped by one fault: those of one page table. */
enum { FAULT_CHECK_PAGES_MAX = 512 };

/*
 * Prints the note. Then exits by failure_unsupported(step, …) if one page took several faults, for
 * loops whose operation is a page touched. One fault may map up to FAULT_CHECK_PAGES_MAX pages.
 */
void fault_check_demand_pages(const struct plan *plan, const struct region *region, const char *step);

#endif
