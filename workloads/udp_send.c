/*
 * udp_send: the calls of iperf3's sender for each UDP packet, as traced in "Measuring Performance
 * on OpenBSD" (EuroBSDCon 2019, slide 42): a write, two clock reads, a select and two clock reads.
 * There the rate of packets depended on the price of the clock.
 *
 * - loop: all of it.
 * - write, clock, select: one part alone: the write, the four clock reads, the select.
 * - loop-ipv6: as loop, over IPv6.
 *
 * Packets of --size bytes go to a socket on the loopback device that no process reads. It is full
 * after a few packets; from then on the system carries each packet to that socket and drops it
 * there. So the figure is the sender's alone, and no reader uses its CPU. With a receiver, that
 * socket is at the receiver's end.
 */
#include <errno.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/data.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "network/sockets.h"

enum { LOOP, WRITE, CLOCK, SELECT, LOOP_IPV6 };
enum { BATCH_ROUNDS = 16 };

struct send_state {
    int socket;
    char *data;
};

static bool writes(const struct plan *plan)
{
    return plan_variant(plan) != CLOCK && plan_variant(plan) != SELECT;
}

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return writes(plan) ? plan->size : 0;
}

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == LOOP_IPV6);
}

static void open_unread(struct task *task)
{
    int unread = sockets_bind(task, SOCK_DGRAM);
    int least = 1; /* the system uses its minimum */
    if (setsockopt(unread, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) != 0)
        task_fail(task, "setsockopt", errno);
    sockets_publish(task, unread);
}

static void peer(struct task *task)
{
    open_unread(task);
    peer_ready(task);
    sockets_rest();
}

static void setup(struct task *task)
{
    struct send_state *state = task->state;
    state->data = data_new(task);
    if (task->plan->receiver == NULL)
        open_unread(task);
    state->socket = sockets_connect(task, SOCK_DGRAM);
    if (state->socket >= FD_SETSIZE)
        task_fail_text(task, "select", EMFILE, "select knows descriptors below %d; ask for fewer threads", FD_SETSIZE);
}

static void read_clock_twice(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    gettimeofday(&now, NULL);
}

static void wait_writable(struct task *task)
{
    const struct send_state *state = task->state;
    fd_set writable;
    FD_ZERO(&writable);
    FD_SET(state->socket, &writable);
    struct timeval limit = {.tv_sec = SOCKETS_LIMIT_S};
    int ready = select(state->socket + 1, NULL, &writable, NULL, &limit);
    if (ready <= 0)
        sockets_fail(task, "select", ready == 0 ? ETIMEDOUT : errno);
}

/* Returns false if the system had no room for the packet. */
static bool send_packet(struct task *task)
{
    const struct send_state *state = task->state;
    if (write(state->socket, state->data, task->plan->size) == (ssize_t)task->plan->size)
        return true;
    if (errno != ENOBUFS)
        sockets_fail(task, "write", errno);
    return false;
}

/* Packets without room are not operations: they are written again, for a limited time. */
static void send_until_sent(struct task *task)
{
    if (send_packet(task))
        return;
    uint64_t deadline_ns = clock_now_ns() + SOCKETS_LIMIT_S * NS_PER_S;
    while (!send_packet(task))
        if (clock_now_ns() > deadline_ns)
            sockets_fail(task, "write", ETIMEDOUT);
}

static void do_round(struct task *task)
{
    switch (plan_variant(task->plan)) {
    case WRITE:
        send_until_sent(task);
        break;
    case CLOCK:
        read_clock_twice();
        read_clock_twice();
        break;
    case SELECT:
        wait_writable(task);
        break;
    default:
        send_until_sent(task);
        read_clock_twice();
        wait_writable(task);
        read_clock_twice();
    }
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    uint64_t rounds = limit < BATCH_ROUNDS ? limit : BATCH_ROUNDS;
    for (uint64_t i = 0; i < rounds; i++)
        do_round(task);
    return rounds;
}

static const struct variant variants[] = {
    [LOOP] = {"loop", "a write, two clock reads, a select, two clock reads", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [WRITE] = {"write", "the write alone", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [CLOCK] = {"clock", "the four clock reads alone", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SELECT] = {"select", "the select alone", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [LOOP_IPV6] = {"loop-ipv6", "as loop, over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload udp_send = {
    .name = "udp_send",
    .summary = "sends UDP packets as iperf3 did, or does one part of that",
    .operation = "packet",
    .unit = "packet/s",
    .window_ms = 300,
    .default_size = 1400,
    .size_text = "bytes of each packet",
    .most_size = SOCKETS_DATAGRAM_MAX,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 1024,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .state_bytes = sizeof(struct send_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .peer = peer,
    .needs_no_peer_here = true,
};
