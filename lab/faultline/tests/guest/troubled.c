/* A workload for guests. Each variant fails in its own way after a good header. */
#define _GNU_SOURCE
#include "../../../../workloads/harness/faultline_mark.h"
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *option(int count, char **words, const char *name)
{
    for (int i = 1; i + 1 < count; i++)
        if (strcmp(words[i], name) == 0)
            return words[i + 1];
    return "";
}

static void panic_kernel(void)
{
    int trigger = open("/proc/sysrq-trigger", O_WRONLY);
    if (trigger < 0 || write(trigger, "c", 1) != 1)
        perror("sysrq");
}

/* Takes the only CPU for good: no other program runs any more. The kernel stays alive. */
static void freeze(void)
{
    int limit = open("/proc/sys/kernel/sched_rt_runtime_us", O_WRONLY);
    if (limit < 0 || write(limit, "-1", 2) != 2)
        perror("sched_rt_runtime_us");
    struct sched_param highest = {.sched_priority = 99};
    if (sched_setscheduler(0, SCHED_FIFO, &highest) != 0)
        perror("scheduler");
    for (;;)
        ;
}

/* Waits a thousand times for its turn on its own CPU. The next turn never comes. */
static void take_turns(atomic_int *turn, int own)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(own, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        perror("affinity");
    for (;;) {
        int now = atomic_load(turn);
        if (now < 1000 && now % 2 == own)
            atomic_store(turn, now + 1);
    }
}

static void deadlock(void)
{
    atomic_int *turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED) {
        perror("mmap");
        return;
    }
    atomic_store(turn, 0);
    faultline_mark_begin();
    take_turns(turn, fork() == 0);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--describe") == 0) {
        printf("faultline-describe 1 troubled\nsummary a fake\noperation turn\nunit turn/s\ndirection higher\nstyle loop\n"
               "window_ms 10\nvariant panic process the kernel panics\nvariant hang process it never ends\n"
               "variant freeze process it takes the CPU for good\n"
               "variant deadlock process two wait for each other\nvariant crash process a signal ends it\nvariant cut process it ends in the middle\nend\n");
        return 0;
    }
    const char *variant = option(count, words, "--variant");
    printf("faultline-workload 1 troubled\noperation turn\nunit turn/s\ndirection higher\nvariant %s\nmode process\n"
           "tasks %s\nready 1\nbegin 2\n",
           variant, option(count, words, "--tasks"));
    fflush(stdout);
    if (strcmp(variant, "panic") == 0)
        panic_kernel();
    if (strcmp(variant, "freeze") == 0)
        freeze();
    if (strcmp(variant, "deadlock") == 0)
        deadlock();
    if (strcmp(variant, "crash") == 0) {
        fprintf(stderr, "about to crash\nnow\n");
        abort();
    }
    if (strcmp(variant, "cut") == 0)
        return 0;
    for (;;)
        pause();
}
