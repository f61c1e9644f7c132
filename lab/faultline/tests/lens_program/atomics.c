/*
 * atomics add|cmpxchg|xchg|plain TASKS TURNS: executes one instruction per turn on the task's own
 * word. The loop counter is in a register, so each turn makes one access, or two for a plain
 * read-modify-write.
 */
#include "crew.h"

#include <string.h>

static struct {
    _Alignas(LINE) long word;
} words[MOST_TASKS];

static const char *kind;
static long turns;

#define TURNS(instruction, ...) \
    __asm__ volatile("1:\n\t" instruction "\n\tdec %[left]\n\tjnz 1b" : [left] "+r"(left) : __VA_ARGS__ : "memory", "cc", "rax")

static void work(int task)
{
    long left = turns;

    if (strcmp(kind, "add") == 0)
        TURNS("lock addq $1, %[word]", [word] "m"(words[task].word));
    else if (strcmp(kind, "cmpxchg") == 0)
        TURNS("xor %%eax, %%eax\n\tlock cmpxchgq %[new], %[word]", [word] "m"(words[task].word), [new] "r"(0L));
    else if (strcmp(kind, "xchg") == 0)
        TURNS("xchgq %%rax, %[word]", [word] "m"(words[task].word));
    else
        TURNS("addq $1, %[word]", [word] "m"(words[task].word));
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    kind = argv[1];
    turns = atol(argv[3]);
    return crew_run(atoi(argv[2]));
}
