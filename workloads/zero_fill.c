/*
 * zero_fill: first touch of each page of a private anonymous mapping.
 *
 * One batch maps, touches every page once (a write, so that the system must give a zeroed page of its own), and unmaps.
 * One operation is one first touch: of a base page, or of a huge page. The mapping and unmapping are part of the time, spread
 * over all pages of the mapping; --size sets how many.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "harness/failure.h"
#include "harness/fault_check.h"
#include "harness/protocol.h"
#include "harness/tasks.h"
#include "harness/usage.h"
#include "harness/workload.h"

enum { BASE, HUGE };

/* Size of a huge page that one entry of a middle page-table level maps: x86-64, and aarch64 with 4 KiB base pages. */
#define HUGE_BYTES (UINT64_C(2) << 20)

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan_variant(plan) == HUGE ? HUGE_BYTES : plan->page_bytes;
}

static const char *refuse(const struct plan *plan)
{
    return plan->size < bytes_per_operation(plan) ? "--size must be at least one page of the variant" : NULL;
}

/* Touches up to `limit` pages of a new mapping; returns how many, or 0 with errno and the call's name in *step. */
static uint64_t touch_new_mapping(const struct plan *plan, uint64_t limit, const char **step)
{
    size_t stride = bytes_per_operation(plan);
    size_t bytes = plan->size / stride * stride;
    size_t mapped_bytes = plan_variant(plan) == HUGE ? bytes + HUGE_BYTES : bytes; /* room to align */
    char *mapping = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    *step = "mmap";
    if (mapping == MAP_FAILED)
        return 0;
    char *first = mapping;
    if (plan_variant(plan) == HUGE)
        first = mapping + (HUGE_BYTES - (uintptr_t)mapping % HUGE_BYTES) % HUGE_BYTES;
    *step = "madvise";
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    /* EINVAL: a kernel without transparent huge pages, which has only the base pages that were asked for. */
    if (madvise(first, bytes, plan_variant(plan) == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0 &&
        !(plan_variant(plan) == BASE && errno == EINVAL))
        return 0;
#endif
    uint64_t pages = bytes / stride;
    if (pages > limit)
        pages = limit;
    for (uint64_t page = 0; page < pages; page++)
        *(volatile char *)(first + page * stride) = 1;
    *step = "munmap";
    return munmap(mapping, mapped_bytes) == 0 ? pages : 0;
}

/* Huge pages are a wish: see whether touching every base page of such a mapping takes one fault per huge page. */
static void check_huge_pages(const struct plan *plan)
{
#if defined(MADV_HUGEPAGE)
    size_t mapped_bytes = 2 * HUGE_BYTES;
    char *mapping = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (mapping == MAP_FAILED)
        failure_os("mmap", errno);
    char *first = mapping + (HUGE_BYTES - (uintptr_t)mapping % HUGE_BYTES) % HUGE_BYTES;
    if (madvise(first, HUGE_BYTES, MADV_HUGEPAGE) != 0)
        failure_unsupported("madvise", "this kernel has no transparent huge pages");
    uint64_t before = usage_of(RUSAGE_SELF).minor_faults;
    for (size_t offset = 0; offset < HUGE_BYTES; offset += plan->page_bytes)
        *(volatile char *)(first + offset) = 1;
    uint64_t faults = usage_of(RUSAGE_SELF).minor_faults - before;
    munmap(mapping, mapped_bytes);
    /* One, and a few that the process takes elsewhere. */
    if (faults > 8)
        failure_unsupported("huge_pages", "the kernel gives no huge pages of 2 MiB here: %llu faults for one",
                            (unsigned long long)faults);
    protocol_line("note huge_pages yes");
#else
    (void)plan;
    failure_unsupported("huge_pages", "this system takes no wish for huge pages by madvise");
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

static const struct variant variants[] = {
    [BASE] = {"base", "base pages: huge pages declined where the system knows them", MODES_BOTH, MODE_PROCESS, 0},
    [HUGE] = {"huge", "huge pages of 2 MiB, by madvise", MODES_BOTH, MODE_PROCESS, UINT64_C(16) << 20},
};

const struct workload zero_fill = {
    .name = "zero_fill",
    .summary = "first touch of pages of a private anonymous mapping; map, touch all, unmap, again",
    .operation = "fault",
    .unit = "fault/s",
    .window_ms = 200,
    .default_size = UINT64_C(4) << 20,
    .size_text = "bytes that each task maps at a time; huge: 16777216",
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .refuse = refuse,
    .bytes_per_operation = bytes_per_operation,
    .prepare = prepare,
    .batch = batch,
    .conclude = fault_check_note,
};
