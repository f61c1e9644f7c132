/* A 32-bit program without a C library: 1,000 additions between marks, a million outside. */
#include "faultline_mark.h"

static volatile unsigned word;

static void add(unsigned times)
{
    while (times-- > 0)
        word++;
}

__attribute__((noreturn)) void _start(void)
{
    add(500000);
    faultline_mark_begin();
    add(1000);
    faultline_mark_end();
    add(500000);
    /* exit(0) */
    __asm__ volatile("int $0x80" ::"a"(1), "b"(0));
    __builtin_unreachable();
}
