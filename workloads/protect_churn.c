/*
 * protect_churn: mprotect back and forth between read-only and writable. One operation is one
 * mprotect.
 *
 * The pages are touched, and each page is written again after it has become writable. Some systems
 * make the translation writable only at the next write; without it, the next mprotect would have
 * nothing to revoke. So every second operation revokes rights from a live translation, and other
 * CPUs that run threads of the process must drop that translation. Inaccessible pages on both sides
 * keep the system from merging and splitting neighbouring mappings.
 */
#include <errno.h>
#include <sys/mman.h>

#include "harness/fault_check.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { BATCH_CALLS = 32 };

struct protect_state {
    char *pages;
    size_t bytes;
    size_t page_bytes;
    bool read_only;
};

static void write_pages(const struct protect_state *state)
{
    volatile char *pages = state->pages;
    size_t bytes = state->bytes;
    size_t page_bytes = state->page_bytes;
    for (size_t offset = 0; offset < bytes; offset += page_bytes)
        pages[offset] = 1;
}

static void make_read_only(struct task *task)
{
    const struct protect_state *state = task->state;
    if (mprotect(state->pages, state->bytes, PROT_READ) != 0)
        task_fail(task, "mprotect", errno);
}

static void make_writable(struct task *task)
{
    const struct protect_state *state = task->state;
    if (mprotect(state->pages, state->bytes, PROT_READ | PROT_WRITE) != 0)
        task_fail(task, "mprotect", errno);
    write_pages(state);
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static void setup(struct task *task)
{
    const struct plan *plan = task->plan;
    struct protect_state *state = task->state;
    state->page_bytes = plan->page_bytes;
    state->bytes = (plan->size + plan->page_bytes - 1) / plan->page_bytes * plan->page_bytes;
    char *mapping = mmap(NULL, state->bytes + 2 * plan->page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (mapping == MAP_FAILED)
        task_fail(task, "mmap", errno);
    state->pages = mapping + plan->page_bytes;
    make_writable(task);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    struct protect_state *state = task->state;
    uint64_t calls = limit < BATCH_CALLS ? limit : BATCH_CALLS;
    uint64_t done = 0;
    if (state->read_only) { /* an odd number of calls came before */
        make_writable(task);
        state->read_only = false;
        done = 1;
    }
    for (; done + 2 <= calls; done += 2) {
        make_read_only(task);
        make_writable(task);
    }
    if (done < calls) {
        make_read_only(task);
        state->read_only = true;
    }
    return calls;
}

static const struct variant variants[] = {
    {"threads", "threads of one process, each its own pages",
     MODE_BIT(MODE_THREAD), MODE_THREAD, 0, QUICK(MODE_THREAD) | FULL(MODE_THREAD)},
    {"processes", "each task a process", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload protect_churn = {
    .name = "protect_churn",
    .summary = "mprotect of a touched page, read-only and writable in turn",
    .operation = "protect",
    .unit = "protect/s",
    .window_ms = 200,
    .default_size = 4096,
    .size_text = "bytes protected at a time, rounded up to whole pages",
    .place = 80,
    .lens_operations = 1024,
    .size_memory = size_memory,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .state_bytes = sizeof(struct protect_state),
    .setup = setup,
    .batch = batch,
    .conclude = fault_check_note,
};
