/* Checks that a fault loop does what it claims: a fault for each operation, or for several pages of it. */
#ifndef FAULTLINE_FAULT_CHECK_H
#define FAULTLINE_FAULT_CHECK_H

#include "coordinator.h"

/* Prints `note faults_per_operation X.XXX` if usage is of the window. For workload.conclude. */
void fault_check_note(const struct plan *plan, const struct region *region);

/*
 * Prints the note. Then exits by failure_unsupported(step, …) unless one operation was one fault, if that can be
 * checked (not under the address sanitizer).
 */
void fault_check_demand_one(const struct plan *plan, const struct region *region, const char *step);

/* Pages that one fault maps at most: those of a table of pages. */
enum { FAULT_CHECK_PAGES_MAX = 512 };

/*
 * The same for a loop whose operation is a page touched. The system may map up to FAULT_CHECK_PAGES_MAX pages with one
 * fault, but a page must not take several.
 */
void fault_check_demand_pages(const struct plan *plan, const struct region *region, const char *step);

#endif
