/*
 * tcp_stream: one operation passes --size bytes through a TCP connection between the task and its
 * peer, a process on the same CPU.
 *
 * - send: from the task to the peer.
 * - receive: from the peer to the task.
 * - both: in both directions at the same time, so an operation is --size bytes each way.
 * - send-ipv6, receive-ipv6: over IPv6.
 */
#include <errno.h>

#include "harness/data.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "network/sockets.h"

enum { SEND, RECEIVE, BOTH, SEND_IPV6, RECEIVE_IPV6 };

struct stream_state {
    int socket;
    char *data;
};

static bool sends(const struct plan *plan)
{
    return plan_variant(plan) == SEND || plan_variant(plan) == SEND_IPV6;
}

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan_variant(plan) == BOTH ? 2 * plan->size : plan->size;
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == SEND_IPV6 || plan_variant(plan) == RECEIVE_IPV6);
}

static void peer(struct task *task)
{
    int listener = sockets_bind(task, SOCK_STREAM);
    char *data = data_new(task);
    size_t bytes = task->plan->size;
    sockets_publish(task, listener);
    peer_ready(task);
    int connection = sockets_accept(task, listener);
    int status = 0;
    if (plan_variant(task->plan) == BOTH)
        sockets_nonblocking(task, connection);
    while (status == 0) {
        if (plan_variant(task->plan) == BOTH)
            status = sockets_exchange(connection, bytes, connection, bytes, data, -1);
        else if (sends(task->plan))
            status = recv(connection, data, bytes, 0) > 0 ? 0 : -1;
        else
            status = sockets_send_all(connection, data, bytes);
    }
    sockets_rest();
}

static void setup(struct task *task)
{
    struct stream_state *state = task->state;
    state->data = data_new(task);
    state->socket = sockets_connect(task, SOCK_STREAM);
    if (plan_variant(task->plan) == BOTH)
        sockets_nonblocking(task, state->socket);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    const struct stream_state *state = task->state;
    size_t bytes = task->plan->size;
    const char *step = "send";
    int status;
    if (plan_variant(task->plan) == BOTH) {
        status = sockets_exchange(state->socket, bytes, state->socket, bytes, state->data, SOCKETS_LIMIT_S * 1000);
    } else if (sends(task->plan)) {
        status = sockets_send_all(state->socket, state->data, bytes);
    } else {
        step = "recv";
        status = sockets_receive_all(state->socket, state->data, bytes);
    }
    if (status != 0)
        sockets_fail(task, step, errno);
    return 1;
}

static const struct variant variants[] = {
    [SEND] = {"send", "from the task to its peer", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [RECEIVE] = {"receive", "from the peer to the task", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [BOTH] = {"both", "in both directions at once", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SEND_IPV6] = {"send-ipv6", "as send, over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [RECEIVE_IPV6] = {"receive-ipv6", "as receive, over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload tcp_stream = {
    .name = "tcp_stream",
    .summary = "passes data through TCP connections",
    .operation = "block",
    .unit = "block/s",
    .window_ms = 300,
    .default_size = UINT64_C(128) << 10,
    .size_text = "bytes of each block",
    .most_size = UINT64_C(16) << 20,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 64,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .state_bytes = sizeof(struct stream_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .peer = peer,
};
