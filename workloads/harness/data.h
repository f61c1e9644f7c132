/* Memory that a loop hands to the kernel to be copied. */
#ifndef FAULTLINE_DATA_H
#define FAULTLINE_DATA_H

#include "workload.h"

/*
 * plan.size bytes, all written, on whole pages; never freed. Exits by task_fail() if there is no memory.
 *
 * malloc puts a large block 16 bytes past a page. On one AMD EPYC, reads of 256 KiB from the cache into such a place took more than
 * twice as long, and appends from it 1.1 times as long.
 */
char *data_new(struct task *task);

#endif
