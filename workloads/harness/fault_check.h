/* Checks that a fault loop does what it claims: one fault for each operation. */
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

#endif
