/*
 * relay: one operation passes --size bytes from one TCP connection to another, as a proxy does. The
 * task's peer, a process on the same CPU, is both ends: it sends into the one and receives from the
 * other.
 *
 * - copy, copy-ipv6: by read and write, through memory of the task.
 * - splice: through a pipe, without memory of the task, if the system supports it (Linux).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "harness/data.h"
#include "harness/failure.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "network/sockets.h"

enum { COPY, SPLICE, COPY_IPV6 };

struct relay_state {
    int from;
    int to;
    char *data;
    int pipe[2];
};

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan->size;
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static void prepare(const struct plan *plan)
{
#if !defined(__linux__)
    if (plan_variant(plan) == SPLICE)
        failure_unsupported("splice", "this system has no splice");
#endif
    sockets_prepare(plan, plan_variant(plan) == COPY_IPV6);
}

/* The first connection is the one that it sends into. */
static void peer(struct task *task)
{
    int listener = sockets_bind(task, SOCK_STREAM);
    char *data = data_new(task);
    sockets_publish(task, listener);
    peer_ready(task);
    int out = sockets_accept(task, listener);
    int in = sockets_accept(task, listener);
    sockets_nonblocking(task, out);
    sockets_nonblocking(task, in);
    while (sockets_exchange(out, task->plan->size, in, task->plan->size, data, -1) == 0)
        continue;
    sockets_rest();
}

static void setup(struct task *task)
{
    struct relay_state *state = task->state;
    state->data = data_new(task);
    state->from = sockets_connect(task, SOCK_STREAM);
    state->to = sockets_connect(task, SOCK_STREAM);
    signal(SIGPIPE, SIG_IGN); /* a closed end is an error of the splice */
    if (plan_variant(task->plan) == SPLICE && pipe(state->pipe) != 0)
        task_fail(task, "pipe", errno);
}

static void copy(struct task *task)
{
    const struct relay_state *state = task->state;
    for (size_t left = task->plan->size; left > 0;) {
        ssize_t n = recv(state->from, state->data, left, 0);
        if (n <= 0)
            sockets_fail(task, "recv", n == 0 ? ECONNRESET : errno);
        if (sockets_send_all(state->to, state->data, (size_t)n) != 0)
            sockets_fail(task, "send", errno);
        left -= (size_t)n;
    }
}

#if defined(__linux__)
static ssize_t splice_some(struct task *task, int from, int to, size_t bytes)
{
    ssize_t n = splice(from, NULL, to, NULL, bytes, SPLICE_F_MOVE);
    if (n <= 0)
        sockets_fail(task, "splice", n == 0 ? ECONNRESET : errno);
    return n;
}

static void splice_all(struct task *task)
{
    const struct relay_state *state = task->state;
    for (size_t left = task->plan->size; left > 0;) {
        /* The pipe is empty, so this waits only for the connection, never for room. */
        size_t piped = (size_t)splice_some(task, state->from, state->pipe[1], left);
        left -= piped;
        while (piped > 0)
            piped -= (size_t)splice_some(task, state->pipe[0], state->to, piped);
    }
}
#else
static void splice_all(struct task *task)
{
    task_fail(task, "splice", ENOSYS); /* not reached: prepare() has ended the execution */
}
#endif

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    if (plan_variant(task->plan) == SPLICE)
        splice_all(task);
    else
        copy(task);
    return 1;
}

static const struct variant variants[] = {
    [COPY] = {"copy", "by read and write", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SPLICE] = {"splice", "through a pipe, without a copy in the task's memory", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [COPY_IPV6] = {"copy-ipv6", "by read and write, over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload relay = {
    .name = "relay",
    .summary = "passes on data from one TCP connection to another",
    .operation = "block",
    .unit = "block/s",
    .window_ms = 300,
    .default_size = UINT64_C(128) << 10,
    .size_text = "bytes of each block",
    .most_size = UINT64_C(16) << 20,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 32,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .state_bytes = sizeof(struct relay_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .peer = peer,
};
