/* See usage.h. */
#include "usage.h"

#include <inttypes.h>

#include "clock.h"
#include "protocol.h"

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

struct usage usage_from(const struct rusage *resources)
{
    return (struct usage){
        .user_ns = timeval_ns(resources->ru_utime),
        .system_ns = timeval_ns(resources->ru_stime),
        .minor_faults = (uint64_t)resources->ru_minflt,
        .major_faults = (uint64_t)resources->ru_majflt,
        .voluntary_switches = (uint64_t)resources->ru_nvcsw,
        .involuntary_switches = (uint64_t)resources->ru_nivcsw,
    };
}

struct usage usage_of(int who)
{
    struct rusage resources;
    getrusage(who, &resources); /* cannot fail: `who` is a constant and the pointer is valid */
    return usage_from(&resources);
}

struct usage usage_sum(struct usage a, struct usage b)
{
    return (struct usage){
        .user_ns = a.user_ns + b.user_ns,
        .system_ns = a.system_ns + b.system_ns,
        .minor_faults = a.minor_faults + b.minor_faults,
        .major_faults = a.major_faults + b.major_faults,
        .voluntary_switches = a.voluntary_switches + b.voluntary_switches,
        .involuntary_switches = a.involuntary_switches + b.involuntary_switches,
    };
}

/*
 * Some systems derive times from sampled ticks and let them go back slightly; never print a wrapped
 * number.
 */
static uint64_t grown(uint64_t later, uint64_t earlier)
{
    return later > earlier ? later - earlier : 0;
}

struct usage usage_difference(struct usage later, struct usage earlier)
{
    return (struct usage){
        .user_ns = grown(later.user_ns, earlier.user_ns),
        .system_ns = grown(later.system_ns, earlier.system_ns),
        .minor_faults = grown(later.minor_faults, earlier.minor_faults),
        .major_faults = grown(later.major_faults, earlier.major_faults),
        .voluntary_switches = grown(later.voluntary_switches, earlier.voluntary_switches),
        .involuntary_switches = grown(later.involuntary_switches, earlier.involuntary_switches),
    };
}

void usage_print(const char *scope, const struct usage *usage)
{
    protocol_line("usage %s user_ns=%" PRIu64 " system_ns=%" PRIu64 " minor_faults=%" PRIu64 " major_faults=%" PRIu64
                  " voluntary_switches=%" PRIu64 " involuntary_switches=%" PRIu64,
                  scope, usage->user_ns, usage->system_ns, usage->minor_faults, usage->major_faults, usage->voluntary_switches,
                  usage->involuntary_switches);
}
