/*
 * Memory, and calls of the kernel.
 *
 * compute       no memory at all
 * copy          16 KiB of a task's own memory
 * allocate      64 bytes from the C library, freed by the same task
 * hand_over     64 bytes that the neighbour frees
 * getppid       a call of the kernel that does nothing
 * read_file     a byte of a file that all tasks read
 * new_pages     a page of new memory, mapped and given back
 */
#define _GNU_SOURCE
#include "truth.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPIED 16384

static struct {
    _Alignas(LINE) char from[COPIED];
    char to[COPIED];
} copied[MOST_TASKS];
static struct {
    _Alignas(LINE) _Atomic(void *) box;
} handed[MOST_TASKS];
static int file = -1;

static void compute_alone(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++)
        compute(100);
}

static void copy(int task, int tasks, long turns)
{
    (void)tasks;
    for (long i = 0; i < turns; i++) {
        memcpy(copied[task].to, copied[task].from, COPIED);
        __asm__ volatile("" ::: "memory");
    }
}

static void allocate(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        volatile char *memory = malloc(64);
        memory[0] = 1;
        free((void *)memory);
    }
}

static void hand_over(int task, int tasks, long turns)
{
    for (long i = 0; i < turns; i++) {
        char *memory = malloc(64);
        memory[0] = 1;
        free(atomic_exchange(&handed[(task + 1) % tasks].box, memory));
    }
}

static void getppid_alone(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++)
        syscall(SYS_getppid);
}

static void __attribute__((constructor)) make_file(void)
{
    file = memfd_create("truth", MFD_CLOEXEC);
    if (file < 0 || write(file, "truth", 5) != 5)
        _exit(1);
}

static void read_file(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    char byte;
    for (long i = 0; i < turns; i++)
        if (pread(file, &byte, 1, 0) != 1)
            _exit(1);
}

static void new_pages(int task, int tasks, long turns)
{
    (void)task, (void)tasks;
    for (long i = 0; i < turns; i++) {
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            _exit(1);
        page[0] = 1;
        munmap((void *)page, 4096);
    }
}

const struct kind own_memory[] = {
    {"compute", compute_alone, NULL},
    {"copy", copy, NULL},
    {"allocate", allocate, NULL},
    {"hand_over", hand_over, NULL},
    {"getppid", getppid_alone, NULL},
    {"read_file", read_file, NULL},
    {"new_pages", new_pages, NULL},
    {NULL, NULL, NULL},
};
