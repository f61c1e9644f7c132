/*
 * loaded LIBRARY TASKS TURNS: tasks increment counters through code outside the program: first
 * through a function of a library loaded with dlopen, then through generated code, named in
 * /tmp/perf-PID.map as by just-in-time compilers.
 */
#include "crew.h"
#include "plugged.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static long turns;
static void (*count)(int turns);
static void (*generated)(long *counter);

static struct {
    _Alignas(LINE) long value;
} counted;

static void work(int task)
{
    (void)task;
    count((int)turns);
    for (long turn = 0; turn < turns; turn++)
        generated(&counted.value);
}

/* lock incq (%rdi); ret */
static const unsigned char code[] = {0xf0, 0x48, 0xff, 0x07, 0xc3};

static int generate(void)
{
    char name[64];
    void *memory = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -1;
    memcpy(memory, code, sizeof code);
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    if (map == NULL)
        return -1;
    fprintf(map, "%lx %zx JS:increment *count.js:7\nnonsense\n", (unsigned long)memory, sizeof code);
    memcpy(&generated, &memory, sizeof memory);
    return fclose(map) | mprotect(memory, sizeof code, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
    int tasks = argc == 4 ? atoi(argv[2]) : 0;

    if (tasks < 1 || tasks > MOST_TASKS)
        return 64;
    turns = atol(argv[3]);
    void *library = dlopen(argv[1], RTLD_NOW);
    void *function = library == NULL ? NULL : dlsym(library, "plugged_count");
    if (function == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&count, &function, sizeof function);
    if (generate() != 0)
        return 1;
    return crew_run(tasks);
}
