/* Memory that a loop hands to the kernel to be copied. */
#ifndef FAULTLINE_DATA_H
#define FAULTLINE_DATA_H

#include "workload.h"

/*
 * plan.size bytes, all written, on whole pages; never freed. Exits by task_fail() if there is no memory.
 *
 * malloc puts a large block 16 bytes past a page, and CPUs copy to and from such places at half the rate or less.
 */
char *data_new(struct task *task);

#endif
