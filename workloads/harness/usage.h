/* Resources used by a task, or by a process and its children. */
#ifndef FAULTLINE_USAGE_H
#define FAULTLINE_USAGE_H

#include <stdint.h>
#include <sys/resource.h>

struct usage {
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
};

struct usage usage_from(const struct rusage *resources);
/* `who` as for getrusage(). */
struct usage usage_of(int who);
struct usage usage_sum(struct usage a, struct usage b);
struct usage usage_difference(struct usage later, struct usage earlier);
/* Prints the `usage SCOPE …` line. */
void usage_print(const char *scope, const struct usage *usage);

#endif
