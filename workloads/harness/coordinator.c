/* See coordinator.h. */
#include "coordinator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ending.h"
#include "ends.h"
#include "failure.h"
#include "faultline_mark.h"
#include "lifetime.h"
#include "pin.h"
#include "protocol.h"
#include "signals.h"
#include "tasks.h"

#define READING_LIMIT_NS (NS_PER_MS / 20)
enum { READING_TRIES = 8 };

static struct region region;

/* Each task's operations at the last printed line and now, and the difference to print. */
static uint64_t *last;
static uint64_t *now;
static uint64_t *difference;

static void print_header(const struct plan *plan)
{
    const struct workload *workload = plan->workload;
    protocol_line("faultline-workload 1 %s", workload->name);
    protocol_line("variant %s", plan->variant->name);
    protocol_line("operation %s", workload->operation);
    protocol_line("unit %s", workload->unit);
    protocol_line("direction %s", workload->lower_is_better ? "lower" : "higher");
    protocol_line("mode %s", plan->mode == MODE_THREAD ? "thread" : "process");
    protocol_line("tasks %u", plan->tasks);
    uint64_t bytes = workload->bytes_per_operation != NULL ? workload->bytes_per_operation(plan) : 0;
    if (bytes > 0)
        protocol_line("bytes_per_operation %" PRIu64, bytes);
}

static void allocate_counts(const struct plan *plan)
{
    last = calloc(plan->tasks, sizeof *last);
    now = calloc(plan->tasks, sizeof *now);
    difference = calloc(plan->tasks, sizeof *difference);
    if (last == NULL || now == NULL || difference == NULL)
        failure_os("calloc", errno);
}

/* Prints the line of the interval that ends at to_ns, and makes it the last one. */
static void print_interval(const struct plan *plan, const char *keyword, uint64_t from_ns, uint64_t to_ns)
{
    for (unsigned i = 0; i < plan->tasks; i++)
        difference[i] = now[i] - last[i];
    memcpy(last, now, plan->tasks * sizeof *last);
    protocol_interval(keyword, from_ns, to_ns, difference, plan->tasks);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * Returns the end of the next interval. *grid_ns advances by one interval, at most to end_ns, so
 * lateness does not accumulate. If a delay skipped points of the grid, an interval is still at
 * least half its nominal length. So the number of intervals is as requested, none lasts only
 * microseconds, and the region ends later.
 */
static uint64_t next_deadline_ns(const struct plan *plan, uint64_t from_ns, uint64_t *grid_ns, uint64_t end_ns)
{
    uint64_t place_ns = earlier(*grid_ns + plan->interval_ns, end_ns);
    uint64_t deadline_ns = later(place_ns, from_ns + (place_ns - *grid_ns) / 2);
    *grid_ns = place_ns;
    return deadline_ns;
}

/*
 * Reads the tasks' counts into `now`, and returns the time of reading. If the coordinator loses its
 * CPU in between, counts and time do not match, so it reads again. The number of attempts is
 * limited, because reading the counts of many tasks takes long.
 */
static uint64_t read_operations_ns(void)
{
    uint64_t before_ns;
    uint64_t after_ns;
    for (int attempt = 0;; attempt++) {
        before_ns = clock_now_ns();
        tasks_operations(now);
        after_ns = clock_now_ns();
        if (after_ns - before_ns <= READING_LIMIT_NS || attempt == READING_TRIES - 1)
            return before_ns + (after_ns - before_ns) / 2;
    }
}

/* Just before the region: starts the counts beside the tasks' operations. */
static void begin_reading(const struct plan *plan)
{
    counters_read(&region.before, plan->workload->uses_network);
    ends_begin();
    if (plan->workload->at_begin != NULL && plan->role == NULL)
        plan->workload->at_begin(plan);
    region.peers_span_ns = clock_now_ns();
    tasks_peers_cpu_ns(&region.peers_cpu_ns);
}

/* Just after the region. */
static void end_reading(const struct plan *plan)
{
    uint64_t at_begin_ns = region.peers_cpu_ns;
    region.peers_span_ns = clock_now_ns() - region.peers_span_ns;
    region.has_peers_cpu = tasks_peers_cpu_ns(&region.peers_cpu_ns);
    region.peers_cpu_ns -= at_begin_ns;
    ends_end();
    if (plan->workload->at_end != NULL && plan->role == NULL)
        plan->workload->at_end(plan);
    counters_read(&region.after, plan->workload->uses_network);
}

/*
 * The kernel's counters are read outside the region: before its begin, in the last interval of the
 * warm-up, and after its end.
 */
static void run_over_window(const struct plan *plan)
{
    uint64_t from_ns = clock_now_ns();
    uint64_t warmup_end_ns = from_ns + plan->warmup_ns;
    if (plan->warmup_ns == 0) {
        begin_reading(plan);
        from_ns = warmup_end_ns = clock_now_ns();
        faultline_mark_begin();
        protocol_line("begin %" PRIu64, from_ns);
        tasks_release(PHASE_WINDOW);
    } else {
        tasks_release(PHASE_WARMUP);
    }
    for (uint64_t grid_ns = from_ns; grid_ns < warmup_end_ns;) {
        tasks_wait_until(next_deadline_ns(plan, from_ns, &grid_ns, warmup_end_ns));
        bool last_one = grid_ns == warmup_end_ns;
        if (last_one)
            begin_reading(plan);
        uint64_t to_ns = read_operations_ns();
        if (last_one) {
            tasks_enter(PHASE_WINDOW);
            faultline_mark_begin();
        }
        print_interval(plan, "warmup", from_ns, to_ns);
        if (last_one)
            protocol_line("begin %" PRIu64, to_ns);
        from_ns = to_ns;
    }

    region.begin_ns = from_ns;
    uint64_t window_end_ns = region.begin_ns + plan->window_ns;
    for (uint64_t grid_ns = region.begin_ns; grid_ns < window_end_ns;) {
        tasks_wait_until(next_deadline_ns(plan, from_ns, &grid_ns, window_end_ns));
        uint64_t to_ns = read_operations_ns();
        if (grid_ns == window_end_ns) {
            faultline_mark_end();
            end_reading(plan);
            tasks_enter(PHASE_STOP);
        }
        print_interval(plan, "interval", from_ns, to_ns);
        from_ns = to_ns;
    }
    region.end_ns = from_ns;
    protocol_line("end %" PRIu64, region.end_ns);
}

static void run_over_operations(const struct plan *plan)
{
    begin_reading(plan);
    region.begin_ns = clock_now_ns();
    protocol_line("begin %" PRIu64, region.begin_ns);
    faultline_mark_begin();
    tasks_release(PHASE_WINDOW);
    tasks_wait_finished();
    faultline_mark_end();
    region.end_ns = clock_now_ns();
    end_reading(plan);
    tasks_operations(now);
    print_interval(plan, "interval", region.begin_ns, region.end_ns);
    protocol_line("end %" PRIu64, region.end_ns);
}

static void run_loop(const struct plan *plan)
{
    allocate_counts(plan);
    tasks_start(plan);
    protocol_line("ready %" PRIu64, clock_now_ns());
    if (plan->operations > 0)
        run_over_operations(plan);
    else
        run_over_window(plan);
    tasks_stop();
    ends_leave();
    region.usage_of_window = tasks_usage(&region.usage, &region.usage_operations);
}

static void answer(const struct plan *plan)
{
    uint64_t (*count)(const struct plan *) = plan->workload->peer_count;
    ends_answer((struct end_count){.at_ns = clock_now_ns(), .count = count != NULL ? count(plan) : 0});
}

/* A partner, whose region of interest is that of the measured execution. It does no operations. */
static void run_partner(const struct plan *plan)
{
    allocate_counts(plan);
    tasks_start(plan);
    ends_listen(plan);
    protocol_line("ready %" PRIu64, clock_now_ns());
    ends_await_begin(plan);
    begin_reading(plan);
    region.begin_ns = clock_now_ns();
    answer(plan);
    protocol_line("begin %" PRIu64, region.begin_ns);
    ends_await_end();
    answer(plan);
    region.end_ns = clock_now_ns();
    end_reading(plan);
    print_interval(plan, "interval", region.begin_ns, region.end_ns);
    protocol_line("end %" PRIu64, region.end_ns);
    ends_await_leave();
    tasks_stop();
}

/*
 * The coordinator's children do the work, so the difference of two readings of their usage is
 * exact.
 */
static void run_once(const struct plan *plan)
{
    protocol_line("ready %" PRIu64, clock_now_ns());
    begin_reading(plan);
    struct usage usage_before = usage_of(RUSAGE_CHILDREN);
    region.begin_ns = clock_now_ns();
    protocol_line("begin %" PRIu64, region.begin_ns);
    faultline_mark_begin();
    plan->workload->run(plan);
    faultline_mark_end();
    region.end_ns = clock_now_ns();
    region.usage = usage_difference(usage_of(RUSAGE_CHILDREN), usage_before);
    region.usage_of_window = true;
    end_reading(plan);
    protocol_line("end %" PRIu64, region.end_ns);
}

void coordinator_run(const struct plan *plan)
{
    const struct workload *workload = plan->workload;
    signals_block();
    print_header(plan);
    if (plan->pin_count > 0 && !pin_supported())
        failure_unsupported("pin", "programs cannot choose their CPUs on this system");
    lifetime_start_guard(workload->needs_scratch ? plan->scratch_parent : NULL, workload->name);
    if (workload->prepare != NULL)
        workload->prepare(plan);
    if (plan->role != NULL)
        run_partner(plan);
    else if (workload->style == STYLE_ONCE)
        run_once(plan);
    else
        run_loop(plan);
    if (plan->role == NULL)
        usage_print(region.usage_of_window ? "window" : "life", &region.usage);
    if (region.usage_operations > 0) /* usage ends with whole batches, not exactly with the window */
        protocol_line("note usage_operations %" PRIu64, region.usage_operations);
    counters_print(&region.before, &region.after);
    if (region.has_peers_cpu && region.peers_cpu_ns > 0)
        protocol_line("counter peers.cpu_ns %" PRIu64, region.peers_cpu_ns);
    if (region.has_peers_cpu && plan->role != NULL)
        protocol_line("measure peers_cpus_busy CPUs lower %.6f", (double)region.peers_cpu_ns / (double)region.peers_span_ns);
    if (workload->conclude != NULL && plan->role == NULL)
        workload->conclude(plan, &region);
    if (ends_are_apart(plan))
        ends_print(&region.before, &region.after);
    ending_clear_away();
    protocol_line("done");
}
