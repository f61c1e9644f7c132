/*
 * The operating system's own event counters, for the whole machine.
 *
 * One reading is taken before and one after the region of interest; counters_print() prints the
 * changes. docs/FORMATS.md lists the names. A counter that the system lacks is left out.
 */
#ifndef FAULTLINE_COUNTERS_H
#define FAULTLINE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNTER_NAME_BYTES = 64, COUNTERS_MAX = 2048 };

struct counter {
    char name[COUNTER_NAME_BYTES];
    uint64_t value;
};

struct counters {
    uint64_t at_ns;               /* time of the reading */
    size_t count;
    struct counter counter[COUNTERS_MAX];
};

/* Replaces the content of `counters`. with_network: includes the network's counters. */
void counters_read(struct counters *counters, bool with_network);
/* Prints `counter NAME DELTA` for each counter that changed. */
void counters_print(const struct counters *before, const struct counters *after);
/* The change of the counter `name`. Returns false if there is none. */
bool counters_change(const struct counters *before, const struct counters *after, const char *name, int64_t *change);

/* Name of the counter of processes started since boot; NULL if the system has none. */
extern const char *const counters_processes_name;

/* Implemented per system: reads all counters by calling counters_add(). */
void counters_read_system(struct counters *counters, bool with_network);
void counters_add(struct counters *counters, const char *prefix, const char *name, size_t name_length, uint64_t value);

#endif
