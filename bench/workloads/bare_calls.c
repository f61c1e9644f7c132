/* Bare loops of system calls. */
#include "bare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path;

static void create(const char *file_path)
{
    path = file_path;
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    if (file < 0)
        bare_fail("open");
    close(file);
}

void bare_stat_one_setup(const struct bare_conditions *conditions)
{
    (void)conditions;
    create("file-0");
}

void bare_stat_two_setup(const struct bare_conditions *conditions)
{
    (void)conditions;
    if (mkdir("d1", 0700) != 0)
        bare_fail("mkdir");
    create("d1/file-0");
}

void bare_stat_deep_setup(const struct bare_conditions *conditions)
{
    (void)conditions;
    static const char *const directories[] = {
        "d1", "d1/d2", "d1/d2/d3", "d1/d2/d3/d4", "d1/d2/d3/d4/d5", "d1/d2/d3/d4/d5/d6", "d1/d2/d3/d4/d5/d6/d7",
        "d1/d2/d3/d4/d5/d6/d7/d8",
    };
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
        if (mkdir(directories[i], 0700) != 0)
            bare_fail("mkdir");
    create("d1/d2/d3/d4/d5/d6/d7/d8/file-0");
}

uint64_t bare_stat(const struct bare_conditions *conditions, uint64_t operations)
{
    (void)conditions;
    struct stat status;
    for (uint64_t i = 0; i < operations; i++)
        if (stat(path, &status) != 0)
            bare_fail("stat");
    return operations;
}

void bare_large_setup(const struct bare_conditions *conditions)
{
    char *p = mmap(NULL, conditions->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (p == MAP_FAILED)
        bare_fail("mmap");
#if defined(MADV_NOHUGEPAGE)
    madvise(p, conditions->size, MADV_NOHUGEPAGE);
#endif
    for (uint64_t i = 0; i < conditions->size; i += conditions->page_bytes)
        ((volatile char *)p)[i] = 1;
}

uint64_t bare_fork(const struct bare_conditions *conditions, uint64_t operations)
{
    (void)conditions;
    for (uint64_t i = 0; i < operations; i++) {
        pid_t child = fork();
        if (child < 0)
            bare_fail("fork");
        if (child == 0)
            _exit(0);
        int status;
        if (waitpid(child, &status, 0) != child)
            bare_fail("waitpid");
    }
    return operations;
}

static char *pages;
static size_t pages_bytes;

void bare_protect_setup(const struct bare_conditions *conditions)
{
    size_t page_bytes = conditions->page_bytes;
    pages_bytes = (conditions->size + page_bytes - 1) / page_bytes * page_bytes;
    char *p = mmap(NULL, pages_bytes + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (p == MAP_FAILED)
        bare_fail("mmap");
    pages = p + page_bytes;
    if (mprotect(pages, pages_bytes, PROT_READ | PROT_WRITE) != 0)
        bare_fail("mprotect");
    for (size_t offset = 0; offset < pages_bytes; offset += page_bytes)
        *(volatile char *)(pages + offset) = 1;
}

uint64_t bare_protect(const struct bare_conditions *conditions, uint64_t operations)
{
    uint64_t done = 0;
    for (; done < operations; done += 2) {
        if (mprotect(pages, pages_bytes, PROT_READ) != 0)
            bare_fail("mprotect");
        if (mprotect(pages, pages_bytes, PROT_READ | PROT_WRITE) != 0)
            bare_fail("mprotect");
        for (size_t offset = 0; offset < pages_bytes; offset += conditions->page_bytes)
            *(volatile char *)(pages + offset) = 1;
    }
    return done;
}

uint64_t bare_map(const struct bare_conditions *conditions, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++) {
        void *p = mmap(NULL, conditions->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (p == MAP_FAILED)
            bare_fail("mmap");
        munmap(p, conditions->size);
    }
    return operations;
}
