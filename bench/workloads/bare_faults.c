/*
 * Bare loops of page faults.
 *
 * The touches have the same form as in the workloads, a pointer that steps and a count of pages.
 * The CPU's speculation past the faulting access depends on the form, which alone changed the time
 * of a fault by 3 %.
 */
#include "bare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES (UINT64_C(2) << 20)

static int object = -1;

uint64_t bare_zero_fill_base(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t stride = conditions->page_bytes;
    uint64_t pages = conditions->size / stride;
    uint64_t done = 0;
    while (done < operations) {
        char *p = mmap(NULL, conditions->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
#if defined(MADV_NOHUGEPAGE)
        madvise(p, conditions->size, MADV_NOHUGEPAGE);
#endif
        for (uint64_t page = 0; page < pages; page++)
            *(volatile char *)(p + page * stride) = 1;
        munmap(p, conditions->size);
        done += pages;
    }
    return done;
}

uint64_t bare_zero_fill_huge(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t pages = conditions->size / HUGE_BYTES;
    uint64_t done = 0;
    while (done < operations) {
        char *p = mmap(NULL, conditions->size + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
        char *aligned = (char *)(((uintptr_t)p + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES);
#if defined(MADV_HUGEPAGE)
        madvise(aligned, conditions->size, MADV_HUGEPAGE);
#endif
        for (uint64_t page = 0; page < pages; page++) {
            volatile char *huge = aligned + page * HUGE_BYTES;
            huge[0] = 1;
            huge[HUGE_BYTES - conditions->page_bytes] = 1;
        }
        munmap(p, conditions->size + HUGE_BYTES);
        done += pages;
    }
    return done;
}

static void fill(uint64_t bytes)
{
    /*
     * In blocks of the workload's size, because the writes of a file determine the placement of its
     * pages in memory.
     */
    static const char block[65536] = {'F'};
    for (uint64_t written = 0; written < bytes; written += sizeof block)
        if (write(object, block, sizeof block) != (ssize_t)sizeof block)
            bare_fail("write");
}

void bare_object_setup(const struct bare_conditions *conditions)
{
#if defined(__linux__)
    object = memfd_create("bare", MFD_CLOEXEC);
#else
    object = shm_open("/bare", O_RDWR | O_CREAT, 0600);
    shm_unlink("/bare");
#endif
    if (object < 0)
        bare_fail("object");
    fill(conditions->size);
}

uint64_t bare_fault_read(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t stride = conditions->page_bytes;
    uint64_t pages = conditions->size / stride;
    uint64_t done = 0;
    while (done < operations) {
        char *p = mmap(NULL, conditions->size, PROT_READ, MAP_SHARED, object, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
        volatile char *page = p;
        for (uint64_t i = 0; i < pages; i++, page += stride)
            (void)*page;
        munmap(p, conditions->size);
        done += pages;
    }
    return done;
}

uint64_t bare_fault_write(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t stride = conditions->page_bytes;
    uint64_t pages = conditions->size / stride;
    uint64_t done = 0;
    while (done < operations) {
        char *p = mmap(NULL, conditions->size, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
        volatile char *page = p;
        for (uint64_t i = 0; i < pages; i++, page += stride)
            *page = 1;
        munmap(p, conditions->size);
        done += pages;
    }
    return done;
}

void bare_file_setup(const struct bare_conditions *conditions)
{
    object = open("file", O_RDWR | O_CREAT, 0600);
    if (object < 0)
        bare_fail("open");
    fill(conditions->size);
    if (fsync(object) != 0)
        bare_fail("fsync");
}

uint64_t bare_file_cow(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t stride = conditions->page_bytes;
    uint64_t pages = conditions->size / stride;
    uint64_t done = 0;
    while (done < operations) {
        char *p = mmap(NULL, conditions->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, object, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
        volatile char *page = p;
        for (uint64_t i = 0; i < pages; i++, page += stride)
            *page = 1;
        munmap(p, conditions->size);
        done += pages;
    }
    return done;
}
