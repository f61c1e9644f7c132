/* See latency.h. */
#include "network/latency.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness/clock.h"
#include "harness/failure.h"
#include "harness/protocol.h"

/*
 * Values below 64 have a bucket each; above, each power of two has 64 buckets. The largest power is
 * 2^40 ns, 18 minutes, which none of our waits reaches.
 */
enum { EXACT_BITS = 6, EXACT = 1 << EXACT_BITS, MOST_BITS = 40, BUCKETS = (MOST_BITS - EXACT_BITS + 2) << EXACT_BITS };
enum { LEAST_ABOVE = 10 };

struct histogram {
    _Atomic uint64_t count[BUCKETS]; /* single writer: the task */
};

static struct histogram *histograms;
static uint64_t total_at_begin[BUCKETS];
static uint64_t total[BUCKETS];
static const char *counted_since;

static unsigned bucket_of(uint64_t value)
{
    if (value >= UINT64_C(1) << (MOST_BITS + 1))
        value = (UINT64_C(1) << (MOST_BITS + 1)) - 1;
    unsigned bits = 63 - (unsigned)__builtin_clzll(value | 1); /* position of the highest bit */
    unsigned shift = bits > EXACT_BITS ? bits - EXACT_BITS : 0;
    return (unsigned)((shift << EXACT_BITS) + (value >> shift));
}

/* The middle of a bucket. */
static double value_of(unsigned bucket)
{
    if (bucket < 2 * EXACT)
        return bucket;
    unsigned shift = (bucket >> EXACT_BITS) - 1;
    uint64_t least = (uint64_t)(bucket - (shift << EXACT_BITS)) << shift;
    return (double)least + (double)((UINT64_C(1) << shift) - 1) / 2;
}

void latency_prepare(const struct plan *plan, const char *since)
{
    counted_since = since;
    histograms = mmap(NULL, plan->tasks * sizeof *histograms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (histograms == MAP_FAILED)
        failure_os("mmap", errno);
}

void latency_record(const struct task *task, uint64_t nanoseconds)
{
    _Atomic uint64_t *count = &histograms[task->index].count[bucket_of(nanoseconds)];
    /*
     * Relaxed, and no read-modify-write: only the task writes, the coordinator needs only the
     * number, and it orders no other memory. Pairs with the load in read_total().
     */
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void read_total(const struct plan *plan, uint64_t *sums)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        sums[bucket] = 0;
        for (unsigned i = 0; i < plan->tasks; i++)
            /* Relaxed: see latency_record(). */
            sums[bucket] += atomic_load_explicit(&histograms[i].count[bucket], memory_order_relaxed);
    }
}

void latency_at_begin(const struct plan *plan)
{
    read_total(plan, total_at_begin);
}

void latency_at_end(const struct plan *plan)
{
    read_total(plan, total);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        total[bucket] -= total_at_begin[bucket];
}

/* The smallest value with at least `permille` of the samples at or below it. */
static double percentile_ns(uint64_t samples, uint64_t permille)
{
    uint64_t rank = (samples * permille + 999) / 1000;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        seen += total[bucket];
        if (seen >= rank)
            return value_of(bucket);
    }
    return 0;
}

void latency_conclude(const struct plan *plan, const struct region *region)
{
    (void)plan;
    (void)region;
    static const struct {
        const char *name;
        uint64_t permille;
    } wanted[] = {{"latency_p50_s", 500}, {"latency_p90_s", 900}, {"latency_p99_s", 990}, {"latency_p999_s", 999}};
    uint64_t samples = 0;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        samples += total[bucket];
    protocol_line("note latency_since %s", counted_since);
    protocol_line("note latency_samples %" PRIu64, samples);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (samples * (1000 - wanted[i].permille) >= LEAST_ABOVE * UINT64_C(1000))
            protocol_line("measure %s s lower %.9f", wanted[i].name, percentile_ns(samples, wanted[i].permille) / NS_PER_S);
}
