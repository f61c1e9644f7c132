/* Memory that a loop passes to the kernel for copying. */
#ifndef FAULTLINE_DATA_H
#define FAULTLINE_DATA_H

#include "workload.h"

/*
 * plan.size bytes, all written, on whole pages; never freed. Exits by task_fail() if there is no
 * memory.
 *
 * malloc places a large block 16 bytes after a page boundary. On one AMD EPYC, reads of 256 KiB
 * from the cache into such a block took more than twice as long, and appends from it 1.1 times as
 * long.
 */
char *data_new(struct task *task);

#endif
