/*
 * udp_rr: one operation sends a request of --size bytes in a UDP packet, and receives a reply of
 * the same size. The task's peer, a process on the same CPU, answers.
 *
 * - ipv4, ipv6: each request follows the reply to the previous one.
 * - paced: a request is due every millisecond, over IPv4. Its rate only shows whether the schedule
 *   was kept; the latencies are the result.
 *
 * A request without a reply for a second is sent again; its latency counts from the first time.
 * Requests are numbered, so that a late reply is not taken for that of another request.
 */
#include <errno.h>
#include <string.h>
#include <sys/time.h>

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
    char *reply;
    uint64_t number;
    struct request_clock clock;
};

static uint64_t least_size(const struct plan *plan)
{
    (void)plan;
    return sizeof(uint64_t);
}

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == IPV6);
    request_prepare(plan, plan_variant(plan) == PACED);
}

static void peer(struct task *task)
{
    int bound = sockets_bind(task, SOCK_DGRAM);
    char *data = data_new(task);
    sockets_publish(task, bound);
    peer_ready(task);
    for (;;) {
        union socket_address from;
        socklen_t from_bytes = sizeof from;
        ssize_t n = recvfrom(bound, data, task->plan->size, 0, &from.any, &from_bytes);
        if (n < 0 && errno != EINTR)
            task_fail(task, "recvfrom", errno);
        /* A reply without room is lost, and the task asks again. */
        if (n > 0 && sockets_serve(&from))
            sendto(bound, data, (size_t)n, 0, &from.any, from_bytes);
    }
}

static void setup(struct task *task)
{
    struct request_state *state = task->state;
    state->data = data_new(task);
    state->reply = data_new(task);
    state->socket = sockets_connect(task, SOCK_DGRAM);
    const struct timeval patience = {.tv_sec = 1};
    if (setsockopt(state->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        task_fail(task, "setsockopt", errno);
    request_setup(&state->clock, plan_variant(task->plan) == PACED);
}

/* Receives until the reply to this request arrives; false if none arrived within a second. */
static bool receive_reply(struct task *task)
{
    const struct request_state *state = task->state;
    for (;;) {
        ssize_t n = recv(state->socket, state->reply, task->plan->size, 0);
        if (n == (ssize_t)task->plan->size && memcmp(state->reply, &state->number, sizeof state->number) == 0)
            return true;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return false;
        if (n < 0 && errno != EINTR)
            sockets_fail(task, "recv", errno);
    }
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    struct request_state *state = task->state;
    request_await(&state->clock);
    state->number++;
    memcpy(state->data, &state->number, sizeof state->number);
    int tries = 0;
    do {
        if (tries++ == SOCKETS_LIMIT_S)
            sockets_fail(task, "recv", ETIMEDOUT);
        if (send(state->socket, state->data, task->plan->size, 0) < 0 && errno != ENOBUFS)
            sockets_fail(task, "send", errno);
    } while (!receive_reply(task));
    request_done(&state->clock, task);
    return 1;
}

static const struct variant variants[] = {
    [IPV4] = {"ipv4", "over IPv4", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [IPV6] = {"ipv6", "over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [PACED] = {"paced", "1,000 requests a second by a schedule", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload udp_rr = {
    .name = "udp_rr",
    .summary = "requests and replies in UDP packets",
    .operation = "request",
    .unit = "request/s",
    .window_ms = 300,
    .default_size = 8,
    .size_text = "bytes of each request and reply",
    .least_size = least_size,
    .most_size = SOCKETS_DATAGRAM_MAX,
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
