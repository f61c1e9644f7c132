/*
 * zero_fill: first touch of each page of a private anonymous mapping.
 *
 * One batch maps, touches every page once (with a write, so that the system must provide a separate
 * zeroed page), and unmaps. One operation is one page touched: a base page, or a huge page. A
 * system may provide several pages with one fault; the number of faults per page is reported beside
 * the rate. Mapping and unmapping are part of the time, spread over all pages of the mapping;
 * --size sets their number.
 *
 * The last base page of a huge page is touched too. This costs nothing if the page is huge. If the
 * system gave base pages instead, it costs a second fault, which shows in the final count of
 * faults.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "harness/failure.h"
#include "harness/fault_check.h"
#include "harness/protocol.h"
#include "harness/task.h"
#include "harness/usage.h"
#include "harness/workload.h"

enum { BASE, HUGE };
enum { HUGE_TRIES = 3 };

/*
 * Size of a huge page that one entry of a middle-level page table maps: x86-64, and aarch64 with 4
 * KiB base pages.
 */
#define HUGE_BYTES (UINT64_C(2) << 20)

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan_variant(plan) == HUGE ? HUGE_BYTES : plan->page_bytes;
}

/* Clearing a huge page takes hundreds of thousands of instructions. */
static uint64_t variant_lens_operations(const struct plan *plan)
{
    return plan_variant(plan) == HUGE ? 32 : 0;
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static char *next_huge_boundary(char *address)
{
    return address + (HUGE_BYTES - (uintptr_t)address % HUGE_BYTES) % HUGE_BYTES;
}

static void touch_base_pages(char *first, uint64_t pages, size_t page_bytes)
{
    for (uint64_t page = 0; page < pages; page++)
        *(volatile char *)(first + page * page_bytes) = 1;
}

static void touch_huge_pages(char *first, uint64_t pages, size_t page_bytes)
{
    for (uint64_t page = 0; page < pages; page++) {
        volatile char *huge = first + page * HUGE_BYTES;
        huge[0] = 1;
        huge[HUGE_BYTES - page_bytes] = 1;
    }
}

/*
 * Touches up to `limit` pages of a new mapping. Returns the number of pages touched, or 0 with
 * errno and the call's name in *step.
 */
static uint64_t touch_new_mapping(const struct plan *plan, uint64_t limit, const char **step)
{
    size_t stride = bytes_per_operation(plan);
    size_t bytes = plan->size / stride * stride;
    size_t mapped_bytes = plan_variant(plan) == HUGE ? bytes + HUGE_BYTES : bytes; /* room for alignment */
    char *mapping = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    *step = "mmap";
    if (mapping == MAP_FAILED)
        return 0;
    char *first = plan_variant(plan) == HUGE ? next_huge_boundary(mapping) : mapping;
    *step = "madvise";
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    /* EINVAL: a kernel without transparent huge pages has only base pages, as requested. */
    if (madvise(first, bytes, plan_variant(plan) == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0 &&
        !(plan_variant(plan) == BASE && errno == EINVAL))
        return 0;
#endif
    uint64_t pages = bytes / stride;
    if (pages > limit)
        pages = limit;
    if (plan_variant(plan) == HUGE)
        touch_huge_pages(first, pages, plan->page_bytes);
    else
        touch_base_pages(first, pages, plan->page_bytes);
    *step = "munmap";
    return munmap(mapping, mapped_bytes) == 0 ? pages : 0;
}

#if defined(MADV_HUGEPAGE)
/* Number of faults for touching every base page of one huge page. */
static uint64_t faults_of_a_huge_page(const struct plan *plan)
{
    size_t mapped_bytes = 2 * HUGE_BYTES;
    char *mapping = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (mapping == MAP_FAILED)
        failure_os("mmap", errno);
    char *first = next_huge_boundary(mapping);
    if (madvise(first, HUGE_BYTES, MADV_HUGEPAGE) != 0)
        failure_unsupported("madvise", "this kernel has no transparent huge pages");
    uint64_t before = usage_of(RUSAGE_SELF).minor_faults;
    touch_base_pages(first, HUGE_BYTES / plan->page_bytes, plan->page_bytes);
    uint64_t faults = usage_of(RUSAGE_SELF).minor_faults - before;
    munmap(mapping, mapped_bytes);
    return faults;
}
#endif

/*
 * Huge pages are only a request, so this checks whether it is granted. An attempt may fault
 * elsewhere, so one success is enough.
 */
static void check_huge_pages(const struct plan *plan)
{
#if defined(MADV_HUGEPAGE)
    uint64_t faults = 0;
    for (int attempt = 0; attempt < HUGE_TRIES; attempt++) {
        faults = faults_of_a_huge_page(plan);
        if (faults <= 1) {
            protocol_line("note huge_pages yes");
            return;
        }
    }
    failure_unsupported("huge_pages", "the kernel gives no huge pages of 2 MiB here: %" PRIu64 " faults for one", faults);
#else
    (void)plan;
    failure_unsupported("huge_pages", "this system has no madvise for huge pages");
#endif
}

static void prepare(const struct plan *plan)
{
    if (plan_variant(plan) == HUGE)
        check_huge_pages(plan);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    const char *step;
    uint64_t pages = touch_new_mapping(task->plan, limit, &step);
    if (pages == 0)
        task_fail(task, step, errno);
    return pages;
}

static void conclude(const struct plan *plan, const struct region *region)
{
    fault_check_demand_pages(plan, region, plan_variant(plan) == HUGE ? "huge_pages" : "faults");
}

static const struct variant variants[] = {
    [BASE] = {"base", "base pages; declines huge pages on systems that have them",
              MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [HUGE] = {"huge", "huge pages of 2 MiB, by madvise", MODES_BOTH, MODE_PROCESS, UINT64_C(16) << 20, FULL(MODE_PROCESS)},
};

const struct workload zero_fill = {
    .name = "zero_fill",
    .summary = "first touch of pages of a private anonymous mapping; map, touch all, unmap, again",
    .operation = "page",
    .unit = "page/s",
    .window_ms = 200,
    .default_size = UINT64_C(4) << 20,
    .size_text = "bytes that each task maps at a time; huge: 16777216",
    .place = 20,
    .lens_operations = 4096,
    .variant_lens_operations = variant_lens_operations,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .least_size = bytes_per_operation,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .prepare = prepare,
    .batch = batch,
    .conclude = conclude,
};
