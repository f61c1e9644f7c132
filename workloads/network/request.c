/* See request.h. */
#include "network/request.h"

#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "harness/clock.h"
#include "network/latency.h"

void request_prepare(const struct plan *plan, bool has_schedule)
{
    latency_prepare(plan, has_schedule ? "the time when a request was due, one each millisecond" : "the reply before");
}

void request_setup(struct request_clock *clock, bool has_schedule)
{
    *clock = (struct request_clock){.has_schedule = has_schedule};
#if defined(__linux__)
    /* Otherwise Linux wakes us up to 50 µs late. */
    if (has_schedule)
        prctl(PR_SET_TIMERSLACK, 1);
#endif
}

void request_await(struct request_clock *clock)
{
    if (clock->since_ns == 0)
        clock->since_ns = clock_now_ns();
    if (!clock->has_schedule)
        return;
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < clock->since_ns;) {
        uint64_t left_ns = clock->since_ns - now_ns; /* at most an interval, which is shorter than a second */
        nanosleep(&(struct timespec){.tv_nsec = (long)left_ns}, NULL);
    }
}

void request_done(struct request_clock *clock, const struct task *task)
{
    uint64_t now_ns = clock_now_ns();
    latency_record(task, now_ns - clock->since_ns);
    clock->since_ns = clock->has_schedule ? clock->since_ns + REQUEST_INTERVAL_NS : now_ns;
}
