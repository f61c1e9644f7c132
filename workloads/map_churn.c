/*
 * map_churn: mmap and munmap of anonymous memory that is never touched. One operation is the pair.
 *
 * There are no faults and no pages. Only the address space changes, which threads share and
 * processes do not.
 */
#include <errno.h>
#include <sys/mman.h>

#include "harness/task.h"
#include "harness/workload.h"

enum { BATCH_PAIRS = 32 };

static uint64_t batch(struct task *task, uint64_t limit)
{
    size_t bytes = task->plan->size;
    uint64_t pairs = limit < BATCH_PAIRS ? limit : BATCH_PAIRS;
    for (uint64_t i = 0; i < pairs; i++) {
        void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (mapping == MAP_FAILED)
            task_fail(task, "mmap", errno);
        if (munmap(mapping, bytes) != 0)
            task_fail(task, "munmap", errno);
    }
    return pairs;
}

static const struct variant variants[] = {
    {"threads", "threads of one process", MODE_BIT(MODE_THREAD), MODE_THREAD, 0, QUICK(MODE_THREAD) | FULL(MODE_THREAD)},
    {"processes", "each task a process", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
};

const struct workload map_churn = {
    .name = "map_churn",
    .summary = "mmap and munmap of memory that is never touched",
    .operation = "map",
    .unit = "map/s",
    .window_ms = 200,
    .default_size = UINT64_C(64) << 10,
    .size_text = "bytes mapped at a time",
    .place = 70,
    .lens_operations = 1024,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .batch = batch,
};
