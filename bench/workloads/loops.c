/*
 * Compares each workload's loop under the harness with the same loop without it.
 *
 * Each loop is measured in many short pairs: both sides directly after one another, in random
 * order, each in a fresh process on the same CPU, for about the same number of operations. A
 * disturbance that lasts longer than a pair affects both sides equally. The cost of the harness is
 * the median of the pairs' ratios.
 *
 * The verdict uses the CPU time that the task spends per operation. These loops do not sleep, so on
 * an idle machine this is the time they take; on a shared machine it excludes the time that others
 * got. The ratio of elapsed times is printed too. A pair in which a side got no CPU for its whole
 * window has no ratio; it is measured again, and the row says so. If the median of a loop is
 * outside the limit, the loop gets a second, longer try. If that is outside too, the exit status is
 * 1. Bad arguments: 64.
 *
 * usage: loops [SEED [WORKLOAD]]
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "median.h"
#include "side.h"
#include "harness/clock.h"
#include "harness/ending.h"
#include "harness/failure.h"
#include "harness/lifetime.h"
#include "harness/pin.h"

enum { PAIRS = 40, LONG_PAIRS = 200, WINDOW_MS = 45 };

static const double limit = 0.03;

/* All workloads; the build lists them in WORKLOADS. */
#define WORKLOAD(name) extern const struct workload name;
WORKLOADS
#undef WORKLOAD

static const struct workload *const workloads[] = {
#define WORKLOAD(name) &name,
    WORKLOADS
#undef WORKLOAD
};

static uint64_t random_state;

/* The CPUs that we may run on. */
static unsigned *cpus;
static size_t cpu_count;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t random_number(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static const struct workload *workload_named(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    return NULL;
}

static uint64_t size_of(const struct workload *workload, const char *variant)
{
    for (size_t i = 0; i < workload->variant_count; i++)
        if (strcmp(workload->variants[i].name, variant) == 0 && workload->variants[i].default_size > 0)
            return workload->variants[i].default_size;
    return workload->default_size;
}

struct comparison {
    struct median cpu_ratio;
    struct median wall_ratio;
    struct median harness_ns; /* CPU time per operation */
    struct median bare_ns;
    size_t repeated;          /* pairs without a figure, which were measured again */
};

struct pair {
    struct side_result harness;
    struct side_result bare;
};

/* The result of the calibration of a loop. */
struct work {
    size_t index;
    const struct workload *workload;
    struct bare_conditions conditions;
    uint64_t operations;
};

/* Not counted: determines the number of operations for the bare side. */
static enum side_outcome calibrate(size_t index, struct work *work)
{
    const struct bare_loop *loop = &bare_loops[index];
    struct side_result harness;
    work->index = index;
    work->workload = workload_named(loop->workload);
    enum side_outcome outcome = side_harness(work->workload, loop->variant, 0, WINDOW_MS, &harness);
    work->conditions = (struct bare_conditions){.size = size_of(work->workload, loop->variant)};
    work->operations = harness.operations;
    return outcome;
}

static enum side_outcome measure_pair(const struct work *work, struct pair *pair)
{
    const char *variant = bare_loops[work->index].variant;
    unsigned cpu = cpus[random_number() % cpu_count];
    bool bare_first = random_number() % 2 == 0;
    enum side_outcome bare = SIDE_MEASURED;
    if (bare_first)
        bare = side_bare(work->index, &work->conditions, cpu, work->operations, &pair->bare);
    enum side_outcome harness = side_harness(work->workload, variant, cpu, WINDOW_MS, &pair->harness);
    if (!bare_first)
        bare = side_bare(work->index, &work->conditions, cpu, work->operations, &pair->bare);
    return bare > harness ? bare : harness;
}

static bool compare(size_t index, size_t pairs, struct comparison *comparison)
{
    static double cpu_ratios[LONG_PAIRS];
    static double wall_ratios[LONG_PAIRS];
    static double harness_ns[LONG_PAIRS];
    static double bare_ns[LONG_PAIRS];
    struct work work;
    enum side_outcome outcome;
    *comparison = (struct comparison){0};
    while ((outcome = calibrate(index, &work)) == SIDE_STARVED)
        if (++comparison->repeated > pairs)
            return false;
    for (size_t i = 0; i < pairs && outcome == SIDE_MEASURED;) {
        struct pair pair;
        outcome = measure_pair(&work, &pair);
        if (outcome == SIDE_STARVED && ++comparison->repeated <= pairs) {
            outcome = SIDE_MEASURED;
            continue;
        }
        harness_ns[i] = pair.harness.cpu_ns;
        bare_ns[i] = pair.bare.cpu_ns;
        cpu_ratios[i] = pair.harness.cpu_ns / pair.bare.cpu_ns;
        wall_ratios[i] = pair.harness.wall_ns / pair.bare.wall_ns;
        i++;
    }
    if (outcome != SIDE_MEASURED)
        return false;
    comparison->cpu_ratio = median_of(cpu_ratios, pairs);
    comparison->wall_ratio = median_of(wall_ratios, pairs);
    comparison->harness_ns = median_of(harness_ns, pairs);
    comparison->bare_ns = median_of(bare_ns, pairs);
    return true;
}

static bool within_limit(const struct comparison *comparison)
{
    return fabs(comparison->cpu_ratio.value - 1) <= limit;
}

static void print_row(const struct bare_loop *loop, size_t pairs, const struct comparison *comparison)
{
    const struct median *cpu = &comparison->cpu_ratio;
    const struct median *wall = &comparison->wall_ratio;
    printf("%-14s %-12s %5zu %10.1f %10.1f  %6.4f (%.4f to %.4f)  %6.4f (%.4f to %.4f)  %s", loop->workload,
           loop->variant, pairs, comparison->bare_ns.value, comparison->harness_ns.value, cpu->value, cpu->low, cpu->high,
           wall->value, wall->low, wall->high, within_limit(comparison) ? "within 3 %" : "outside 3 %");
    printf(comparison->repeated > 0 ? ", %zu pairs starved and repeated\n" : "\n", comparison->repeated);
    fflush(stdout);
}

/* True if the loop's median is within the limit, if necessary at the second try. */
static bool judge(size_t index)
{
    const struct bare_loop *loop = &bare_loops[index];
    struct comparison comparison;
    if (!compare(index, PAIRS, &comparison)) {
        printf("%-14s %-12s failed or unsupported here\n", loop->workload, loop->variant);
        return false;
    }
    print_row(loop, PAIRS, &comparison);
    if (within_limit(&comparison))
        return true;
    if (!compare(index, LONG_PAIRS, &comparison))
        return false;
    print_row(loop, LONG_PAIRS, &comparison);
    return within_limit(&comparison);
}

int main(int argc, char **argv)
{
    side_main(argc, argv, workload_named);
    clock_start();
    if (argc > 2 && workload_named(argv[2]) == NULL) {
        fprintf(stderr, "no loop is called %s\nhint: loops [SEED [WORKLOAD]]\n", argv[2]);
        return EXIT_BAD_ARGUMENTS;
    }
    errno = pin_allowed(&cpus, &cpu_count);
    if (errno != 0) {
        perror("pin");
        return EXIT_UNSUPPORTED;
    }
    random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)getpid();
    const char *directory = getenv("TMPDIR");
    printf("seed %" PRIu64 "; ratios: harness by bare, median of the pairs (95 %% interval)\n", random_state);
    printf("%-14s %-12s %5s %10s %10s  %-25s  %-25s\n", "", "", "", "bare", "harness", "", "");
    printf("%-14s %-12s %5s %10s %10s  %-25s  %-25s\n", "loop", "variant", "pairs", "CPU ns/op", "CPU ns/op", "CPU ratio",
           "wall ratio");
    fflush(stdout);
    lifetime_start_guard(directory != NULL ? directory : "/tmp", "bench");
    bool all_within = true;
    for (size_t i = 0; i < bare_loop_count; i++)
        if (argc < 3 || strcmp(bare_loops[i].workload, argv[2]) == 0)
            all_within = judge(i) && all_within;
    ending_exit(all_within ? 0 : 1);
}
