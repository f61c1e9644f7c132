/*
 * tcp_rr: one operation sends a request of --size bytes through the task's TCP connection, and
 * receives a reply of the same size. The task's peer, a process on the same CPU, answers.
 *
 * - ipv4, ipv6: each request follows the reply to the previous one.
 * - paced: a request is due every millisecond, over IPv4. Its rate only shows whether the schedule
 *   was kept; the latencies are the result.
 */
#include <errno.h>

#include "harness/data.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "network/latency.h"
#include "network/request.h"
#include "network/sockets.h"

enum { IPV4, IPV6, PACED };

struct request_state {
    int socket;
    char *data;
    struct request_clock clock;
};

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == IPV6);
    request_prepare(plan, plan_variant(plan) == PACED);
}

static void peer(struct task *task)
{
    int listener = sockets_bind(task, SOCK_STREAM);
    char *data = data_new(task);
    size_t bytes = task->plan->size;
    sockets_publish(task, listener);
    peer_ready(task);
    int connection = sockets_accept(task, listener);
    sockets_no_delay(task, connection);
    while (sockets_receive_all(connection, data, bytes) == 0 && sockets_send_all(connection, data, bytes) == 0)
        continue;
    sockets_rest();
}

static void setup(struct task *task)
{
    struct request_state *state = task->state;
    state->data = data_new(task);
    state->socket = sockets_connect(task, SOCK_STREAM);
    sockets_no_delay(task, state->socket);
    request_setup(&state->clock, plan_variant(task->plan) == PACED);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    struct request_state *state = task->state;
    request_await(&state->clock);
    if (sockets_send_all(state->socket, state->data, task->plan->size) != 0)
        sockets_fail(task, "send", errno);
    if (sockets_receive_all(state->socket, state->data, task->plan->size) != 0)
        sockets_fail(task, "recv", errno);
    request_done(&state->clock, task);
    return 1;
}

static const struct variant variants[] = {
    [IPV4] = {"ipv4", "over IPv4", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [IPV6] = {"ipv6", "over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [PACED] = {"paced", "1,000 requests a second by a schedule", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload tcp_rr = {
    .name = "tcp_rr",
    .summary = "requests and replies through TCP connections",
    .operation = "request",
    .unit = "request/s",
    .window_ms = 300,
    .default_size = 1,
    .size_text = "bytes of each request and reply",
    .most_size = UINT64_C(1) << 20,
    .size_memory = size_memory,
    .lens_operations = 256,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .state_bytes = sizeof(struct request_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .peer = peer,
    .at_begin = latency_at_begin,
    .at_end = latency_at_end,
    .conclude = latency_conclude,
};
