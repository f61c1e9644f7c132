// SPDX-License-Identifier: GPL-2.0-or-later
/* word_size: for 32-bit x86 and without a C library, 10,000 loads and stores of one word. */

static volatile long word;

void _start(void);
void _start(void)
{
    for (int i = 0; i < 10000; i++)
        word++;
    /* exit(0) */
    __asm__ volatile("int $0x80" : : "a"(1), "b"(0));
    __builtin_unreachable();
}
