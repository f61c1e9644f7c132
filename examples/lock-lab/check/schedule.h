/*
 * Threads that take turns in an order that follows from a seed alone, and a check for data races
 * among them. Nothing depends on the host's CPUs, load or time.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum number of threads. */
#define THREADS 4

/* Runs `work` on all threads, each with its number, until all have returned. */
void run_threads(unsigned seed, void (*work)(unsigned thread));

/* Notes accesses of the running thread by code that is not instrumented. */
void note_reads(const void *from, size_t bytes);
void note_writes(const void *from, size_t bytes);

/* Ends the check with a message and exit status 1. */
_Noreturn void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
