/*
 * file_cow: private write faults on a file's pages.
 *
 * One batch maps a resident file private, writes to every page once, and unmaps it. One operation
 * is one such fault: the system finds the file's page and gives the task a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/failure.h"
#include "harness/fault_check.h"
#include "harness/file_io.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { SAME, OWN };
enum { PATH_BYTES = 4096 };

struct cow_state {
    int file;
};

/* Set by prepare(), before any task exists. */
static int same_file = -1;

static size_t whole_pages_bytes(const struct plan *plan)
{
    return plan->size / plan->page_bytes * plan->page_bytes;
}

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan->page_bytes;
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

/*
 * Creates a file of data in the system's cache, written back so that the disk is idle later.
 * Returns -1 with errno on failure.
 */
static int make_file(const struct plan *plan, unsigned number)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/file-%u", lifetime_scratch(), number);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && (file_fill(file, whole_pages_bytes(plan)) != 0 || fsync(file) != 0)) {
        int error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

static void prepare(const struct plan *plan)
{
    if (plan_variant(plan) == SAME && (same_file = make_file(plan, 0)) < 0)
        failure_os("file", errno);
}

static void setup(struct task *task)
{
    struct cow_state *state = task->state;
    state->file = plan_variant(task->plan) == SAME ? same_file : make_file(task->plan, task->index);
    if (state->file < 0)
        task_fail(task, "file", errno);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    const struct plan *plan = task->plan;
    const struct cow_state *state = task->state;
    size_t bytes = whole_pages_bytes(plan);
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, state->file, 0);
    if (mapping == MAP_FAILED)
        task_fail(task, "mmap", errno);
    uint64_t pages = bytes / plan->page_bytes;
    if (pages > limit)
        pages = limit;
    volatile char *page = mapping;
    for (uint64_t i = 0; i < pages; i++, page += plan->page_bytes)
        *page = 1;
    if (munmap(mapping, bytes) != 0)
        task_fail(task, "munmap", errno);
    return pages;
}

static void conclude(const struct plan *plan, const struct region *region)
{
    fault_check_demand_one(plan, region, "faults");
}

static const struct variant variants[] = {
    [SAME] = {"same", "all tasks map the same file", MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [OWN] = {"own", "each task maps a file of its own", MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
};

const struct workload file_cow = {
    .name = "file_cow",
    .summary = "private write faults on pages of a resident file; map, write all, unmap, again",
    .operation = "fault",
    .unit = "fault/s",
    .window_ms = 200,
    .default_size = UINT64_C(4) << 20,
    .size_text = "bytes of the file",
    .place = 40,
    .lens_operations = 2048,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct cow_state),
    .least_size = bytes_per_operation,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .conclude = conclude,
};
