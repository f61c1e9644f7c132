/*
 * fault_existing: first touches of pages that are already resident.
 *
 * One batch maps a resident memory object shared, touches each of its pages once, and unmaps it.
 * One operation is one page touched. A system may map several pages with one fault: Linux maps
 * sixteen pages around a read. So the operation is the same on every system, and the number of
 * faults per page is reported beside it.
 *
 * The batch unmaps and maps to drop the translations, instead of calling madvise(MADV_DONTNEED):
 * only this means the same on every system (some may ignore that advice). It also frees the page
 * tables, as a process does when it ends. The cost is spread over all pages of the mapping; --size
 * sets their number. Each task has its own mapping, even as a thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "harness/failure.h"
#include "harness/fault_check.h"
#include "harness/shared_object.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { SHARED, SHARED_WRITE, OWN, OWN_WRITE };

struct existing_state {
    int object;
};

/* Set by prepare(), before any task exists. */
static int shared_object = -1;

static bool writes(const struct plan *plan)
{
    return plan_variant(plan) == SHARED_WRITE || plan_variant(plan) == OWN_WRITE;
}

static bool is_shared(const struct plan *plan)
{
    return plan_variant(plan) == SHARED || plan_variant(plan) == SHARED_WRITE;
}

static size_t whole_pages_bytes(const struct plan *plan)
{
    return plan->size / plan->page_bytes * plan->page_bytes;
}

static uint64_t least_size(const struct plan *plan)
{
    return FAULT_CHECK_PAGES_MAX * plan->page_bytes; /* a smaller object might need no fault of its own */
}

static enum size_memory size_memory(const struct plan *plan)
{
    return is_shared(plan) ? SIZE_IN_ONE_PLACE : SIZE_IN_EACH_TASK;
}

/*
 * Maps the object, touches up to `limit` of its pages, and unmaps it. Returns the number of pages
 * touched, or 0 with errno and *step set.
 */
static uint64_t touch_object(const struct plan *plan, int object, uint64_t limit, const char **step)
{
    size_t bytes = whole_pages_bytes(plan);
    bool write = writes(plan);
    char *mapping = mmap(NULL, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, object, 0);
    *step = "mmap";
    if (mapping == MAP_FAILED)
        return 0;
    size_t stride = plan->page_bytes;
    uint64_t pages = bytes / stride;
    if (pages > limit)
        pages = limit;
    volatile char *page = mapping;
    if (write)
        for (uint64_t i = 0; i < pages; i++, page += stride)
            *page = 1;
    else
        for (uint64_t i = 0; i < pages; i++, page += stride)
            (void)*page;
    *step = "munmap";
    return munmap(mapping, bytes) == 0 ? pages : 0;
}

static void prepare(const struct plan *plan)
{
    shared_object = shared_object_open_resident(whole_pages_bytes(plan));
    if (shared_object < 0)
        failure_os("object", errno);
}

static void setup(struct task *task)
{
    struct existing_state *state = task->state;
    state->object = is_shared(task->plan) ? shared_object : shared_object_open_resident(whole_pages_bytes(task->plan));
    if (state->object < 0)
        task_fail(task, "object", errno);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    const char *step;
    const struct existing_state *state = task->state;
    uint64_t pages = touch_object(task->plan, state->object, limit, &step);
    if (pages == 0)
        task_fail(task, step, errno);
    return pages;
}

static void conclude(const struct plan *plan, const struct region *region)
{
    fault_check_demand_pages(plan, region, "faults");
}

static const struct variant variants[] = {
    [SHARED] = {"shared", "all tasks read the same pages",
                MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [SHARED_WRITE] = {"shared-write", "all tasks write the same pages", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [OWN] = {"own", "each task reads pages of its own", MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [OWN_WRITE] = {"own-write", "each task writes pages of its own", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload fault_existing = {
    .name = "fault_existing",
    .summary = "first touch of resident pages of a shared mapping; map, touch all, unmap, again",
    .operation = "page",
    .unit = "page/s",
    .window_ms = 200,
    .default_size = UINT64_C(16) << 20,
    .size_text = "bytes of the object, shared or each",
    .place = 30,
    .lens_operations = 16384,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .state_bytes = sizeof(struct existing_state),
    .least_size = least_size,
    .size_memory = size_memory,
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .conclude = conclude,
};
