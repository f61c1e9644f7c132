// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * atomics add|cmpxchg|xchg|cmpxchg16b|plain TASKS ITERATIONS: executes one instruction per iteration on a word that
 * belongs to the task. TASKS 0: in the main thread, while it is the only one. The loop counts in a register, so each
 * iteration makes one access.
 */
#include "team.h"

#include <string.h>

static struct {
    ALIGNED long word[2];
} words[64];

#define TURNS(instruction, ...) \
    __asm__ volatile("1:\n\t" instruction "\n\tdec %[turns]\n\tjnz 1b" : [turns] "+r"(turns) : __VA_ARGS__ : "memory", "cc", "rax")

static void add(int task, long turns)
{
    TURNS("lock addq $1, %[word]", [word] "m"(words[task].word[0]));
}

static void compare(int task, long turns)
{
    TURNS("xor %%eax, %%eax\n\tlock cmpxchgq %[new], %[word]", [word] "m"(words[task].word[0]), [new] "r"(0L));
}

static void exchange(int task, long turns)
{
    TURNS("xchgq %%rax, %[word]", [word] "m"(words[task].word[0]));
}

static void plain(int task, long turns)
{
    TURNS("addq $1, %[word]", [word] "m"(words[task].word[0]));
}

static void compare_pair(int task, long turns)
{
    __asm__ volatile("1:\n\txor %%eax, %%eax\n\txor %%edx, %%edx\n\tlock cmpxchg16b %[word]\n\tdec %[turns]\n\tjnz 1b"
                     : [turns] "+r"(turns)
                     : [word] "m"(words[task].word), "b"(0L), "c"(0L)
                     : "memory", "cc", "rax", "rdx");
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    int tasks = atoi(argv[2]);
    long iterations = atol(argv[3]);
    loop *body = strcmp(argv[1], "add") == 0      ? add
                 : strcmp(argv[1], "cmpxchg") == 0 ? compare
                 : strcmp(argv[1], "xchg") == 0    ? exchange
                 : strcmp(argv[1], "plain") == 0   ? plain
                                                   : compare_pair;
    if (tasks > 0) {
        team_run(tasks, iterations, body);
    } else {
        region_begin();
        body(0, iterations);
        region_end();
    }
    return 0;
}
