/* See counters.h. */
#include "counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "protocol.h"

void counters_read(struct counters *counters, bool with_network)
{
    counters->count = 0;
    uint64_t before_ns = clock_now_ns();
    counters_read_system(counters, with_network);
    counters->at_ns = before_ns + (clock_now_ns() - before_ns) / 2;
}

void counters_add(struct counters *counters, const char *prefix, const char *name, size_t name_length, uint64_t value)
{
    size_t prefix_length = strlen(prefix);
    if (counters->count == COUNTERS_MAX || prefix_length + name_length >= COUNTER_NAME_BYTES)
        return;
    struct counter *counter = &counters->counter[counters->count++];
    memcpy(counter->name, prefix, prefix_length);
    memcpy(counter->name + prefix_length, name, name_length);
    counter->name[prefix_length + name_length] = '\0';
    counter->value = value;
}

static const struct counter *find(const struct counters *counters, const char *name, size_t expected)
{
    /*
     * Two readings list the same counters in the same order, except for hot-plugged nodes: look at
     * the same index first.
     */
    if (expected < counters->count && strcmp(counters->counter[expected].name, name) == 0)
        return &counters->counter[expected];
    for (size_t i = 0; i < counters->count; i++)
        if (strcmp(counters->counter[i].name, name) == 0)
            return &counters->counter[i];
    return NULL;
}

void counters_print(const struct counters *before, const struct counters *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct counter *later = &after->counter[i];
        const struct counter *earlier = find(before, later->name, i);
        if (earlier != NULL && earlier->value != later->value)
            protocol_line("counter %s %" PRId64, later->name, (int64_t)(later->value - earlier->value));
    }
}

bool counters_change(const struct counters *before, const struct counters *after, const char *name, int64_t *change)
{
    const struct counter *later = find(after, name, 0);
    const struct counter *earlier = find(before, name, 0);
    if (later == NULL || earlier == NULL)
        return false;
    *change = (int64_t)(later->value - earlier->value);
    return true;
}

/* Systems without supported event counters. */
#if !defined(__linux__) && !defined(__FreeBSD__) && !defined(__DragonFly__) && !defined(__OpenBSD__) && !defined(__NetBSD__)

const char *const counters_processes_name = NULL;

void counters_read_system(struct counters *counters, bool with_network)
{
    (void)with_network;
    (void)counters;
}

#endif
