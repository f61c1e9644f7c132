/* Whether a fault loop does what it says: one fault for each operation. */
#ifndef FAULTLINE_FAULT_CHECK_H
#define FAULTLINE_FAULT_CHECK_H

#include "coordinator.h"

/* `note faults_per_operation X.XXX`, where usage is of the window. For workload.conclude. */
void fault_check_note(const struct plan *plan, const struct region *region);

/* The note; then ends by failure_unsupported(step, …) unless an operation was one fault, where that can be told (not under the address sanitizer). */
void fault_check_demand_one(const struct plan *plan, const struct region *region, const char *step);

#endif
