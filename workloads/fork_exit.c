/*
 * fork_exit: fork, _exit in the child, wait in the parent. One operation is all three.
 *
 * - small: the parent is the task without further memory.
 * - large: the parent has touched --size bytes of base pages. Each fork copies their page tables,
 *   and each exit drops them.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/task.h"
#include "harness/workload.h"

enum { SMALL, LARGE };

static enum size_memory size_memory(const struct plan *plan)
{
    return plan_variant(plan) == LARGE ? SIZE_IN_EACH_TASK : SIZE_IN_NONE;
}

static void setup(struct task *task)
{
    const struct plan *plan = task->plan;
    if (plan_variant(plan) == SMALL)
        return;
    char *memory = mmap(NULL, plan->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED)
        task_fail(task, "mmap", errno);
#if defined(MADV_NOHUGEPAGE)
    /* EINVAL: a kernel without transparent huge pages has only base pages, as wanted. */
    if (madvise(memory, plan->size, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
        task_fail(task, "madvise", errno);
#endif
    for (uint64_t offset = 0; offset < plan->size; offset += plan->page_bytes)
        *(volatile char *)(memory + offset) = 1;
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    pid_t child = fork();
    if (child < 0)
        task_fail(task, "fork", errno);
    if (child == 0)
        _exit(0);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            task_fail(task, "waitpid", errno);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        task_fail_text(task, "child", ECHILD, "the child did not end by itself (wait status %d)", status);
    return 1;
}

static const struct variant variants[] = {
    [SMALL] = {"small", "small parent", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [LARGE] = {"large", "parent that has touched --size bytes", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload fork_exit = {
    .name = "fork_exit",
    .summary = "fork, _exit, wait",
    .operation = "fork",
    .unit = "fork/s",
    .window_ms = 300,
    .default_size = UINT64_C(64) << 20,
    .size_text = "bytes that a large parent has touched",
    .place = 60,
    .lens_operations = 64,
    .size_memory = size_memory,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .setup = setup,
    .batch = batch,
};
