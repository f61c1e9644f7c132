/*
 * A machine without an operating system: 32-bit mode, no paging, no interrupts. Its CPUs are those
 * of the firmware's MP table, and its console is the first serial port.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of CPUs. */
#define MOST_CPUS 64

/* First byte behind the kernel's image. */
extern char image_end[];

/* Called on the first CPU, with the words of the kernel's command line. */
void kernel(const char *words);

/* Number of CPUs in the MP table. */
unsigned cpu_count(void);

/* Starts all other CPUs. Each CPU, including the calling one, runs `work` with its number. */
void on_each_cpu(void (*work)(unsigned cpu));

void print(const char *text);
void print_number(unsigned number);

/* Halts the calling CPU for ever. */
_Noreturn void halt(void);

static inline void pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

#endif
