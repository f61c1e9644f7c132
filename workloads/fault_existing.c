/*
 * fault_existing: faults on pages that are already resident.
 *
 * One batch maps a resident memory object shared, touches it, and unmaps it. One operation is one fault. To drop the
 * translations, it unmaps and maps instead of calling madvise(MADV_DONTNEED). This is the only way that means the same
 * on every system (some systems may ignore that advice). It also frees the page tables, as a process does when it ends.
 * The cost is spread over all faults of the mapping; --size sets their number. Each task has its own mapping, even as a
 * thread.
 *
 * Some systems map several pages around a read fault. At set-up the workload finds this number by counting faults. Each
 * touch then skips that many pages, so that one touch is one fault.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "harness/failure.h"
#include "harness/fault_check.h"
#include "harness/protocol.h"
#include "harness/shared_object.h"
#include "harness/tasks.h"
#include "harness/usage.h"
#include "harness/workload.h"

enum { SHARED, SHARED_WRITE, OWN, OWN_WRITE };
enum { PAGES_PER_FAULT_MAX = 512 };

struct existing_state {
    int object;
};

/* Set by prepare(), before any task exists. */
static int shared_object = -1;
static size_t pages_per_fault;

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
    return PAGES_PER_FAULT_MAX * plan->page_bytes;
}

static enum size_memory size_memory(const struct plan *plan)
{
    return is_shared(plan) ? SIZE_IN_ONE_PLACE : SIZE_IN_EACH_TASK;
}

/*
 * Maps the object, touches up to `limit` pages `stride_pages` apart, and unmaps it. Returns the number of touches, or 0
 * with errno and *step set.
 */
static uint64_t touch_object(const struct plan *plan, int object, size_t stride_pages, uint64_t limit, const char **step)
{
    size_t bytes = whole_pages_bytes(plan);
    bool write = writes(plan);
    char *mapping = mmap(NULL, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, object, 0);
    *step = "mmap";
    if (mapping == MAP_FAILED)
        return 0;
    size_t stride = stride_pages * plan->page_bytes;
    uint64_t touches = (bytes + stride - 1) / stride;
    if (touches > limit)
        touches = limit;
    volatile char *page = mapping;
    if (write)
        for (uint64_t i = 0; i < touches; i++, page += stride)
            *page = 1;
    else
        for (uint64_t i = 0; i < touches; i++, page += stride)
            (void)*page;
    *step = "munmap";
    return munmap(mapping, bytes) == 0 ? touches : 0;
}

/* The smallest power of two with which each touch takes its own fault. */
static size_t find_pages_per_fault(const struct plan *plan, int object)
{
    for (size_t stride_pages = 1; stride_pages <= PAGES_PER_FAULT_MAX; stride_pages *= 2) {
        const char *step;
        uint64_t before = usage_of(RUSAGE_SELF).minor_faults;
        uint64_t touches = touch_object(plan, object, stride_pages, UINT64_MAX, &step);
        if (touches == 0)
            failure_os(step, errno);
        uint64_t faults = usage_of(RUSAGE_SELF).minor_faults - before;
        if (faults >= touches - touches / 64) /* a stricter bound than for the window */
            return stride_pages;
    }
    failure_unsupported("fault_around", "more than %d pages come with one fault here", (int)PAGES_PER_FAULT_MAX);
}

static void prepare(const struct plan *plan)
{
    shared_object = shared_object_open_resident(whole_pages_bytes(plan));
    if (shared_object < 0)
        failure_os("object", errno);
    pages_per_fault = find_pages_per_fault(plan, shared_object);
    protocol_line("note pages_per_fault %zu", pages_per_fault);
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
    uint64_t touches = touch_object(task->plan, state->object, pages_per_fault, limit, &step);
    if (touches == 0)
        task_fail(task, step, errno);
    return touches;
}

static void conclude(const struct plan *plan, const struct region *region)
{
    fault_check_demand_one(plan, region, "faults");
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
    .summary = "faults on resident pages of a shared mapping; map, touch all, unmap, again",
    .operation = "fault",
    .unit = "fault/s",
    .window_ms = 200,
    .default_size = UINT64_C(16) << 20,
    .size_text = "bytes of the object, shared or each",
    .place = 30,
    .lens_operations = 1024,
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
