/*
 * udp_stream: one operation sends a packet of --size bytes to the task's peer, a process on the
 * same CPU or at another end that receives all it can.
 *
 * UDP has no flow control: packets are dropped if the peer is too slow. So the rate of operations
 * is the sender's. Beside it are the packets received per second, and the share that was lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "harness/clock.h"
#include "harness/control.h"
#include "harness/data.h"
#include "harness/ends.h"
#include "harness/failure.h"
#include "harness/protocol.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "network/sockets.h"

enum { IPV4, IPV6 };
enum { BATCH_PACKETS = 16 };

/* Packets received by a peer, on cache lines of its own. Single writer: the peer. */
struct received {
    _Alignas(SLOT_ALIGN_BYTES) _Atomic uint64_t packets;
};

/* Packets of all tasks at a moment; the clock is that of the receiving end. */
struct moment {
    uint64_t at_ns;
    uint64_t received;
    uint64_t sent;
};

struct stream_state {
    int socket;
    char *data;
};

static struct received *received; /* one for each peer, then one for each task's sent packets */
static struct moment begin, end;

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan->size;
}

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == IPV6);
    received = mmap(NULL, 2 * plan->tasks * sizeof *received, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (received == MAP_FAILED)
        failure_os("mmap", errno);
}

static void count(struct received *counter, uint64_t packets)
{
    /*
     * Relaxed, and no read-modify-write: one process writes, the coordinator needs only the number,
     * and it orders no other memory. Pairs with the load in now().
     */
    uint64_t before = atomic_load_explicit(&counter->packets, memory_order_relaxed);
    atomic_store_explicit(&counter->packets, before + packets, memory_order_relaxed);
}

static void peer(struct task *task)
{
    int bound = sockets_bind(task, SOCK_DGRAM);
    char *data = data_new(task);
    sockets_publish(task, bound);
    peer_ready(task);
    ssize_t n = sockets_receive_first(task, bound, data, task->plan->size);
    for (;; n = recv(bound, data, task->plan->size, 0)) {
        if (n >= 0)
            count(&received[task->index], 1);
        else if (errno != EINTR)
            task_fail(task, "recv", errno);
    }
}

static void setup(struct task *task)
{
    struct stream_state *state = task->state;
    state->data = data_new(task);
    state->socket = sockets_connect(task, SOCK_DGRAM);
}

/* Packets without room are not operations: they are sent again, for a limited time. */
static void send_packet(struct task *task)
{
    const struct stream_state *state = task->state;
    uint64_t deadline_ns = 0;
    while (send(state->socket, state->data, task->plan->size, 0) < 0) {
        if (errno != ENOBUFS)
            sockets_fail(task, "send", errno);
        uint64_t now_ns = clock_now_ns();
        if (deadline_ns == 0)
            deadline_ns = now_ns + SOCKETS_LIMIT_S * NS_PER_S;
        if (now_ns > deadline_ns)
            sockets_fail(task, "send", ETIMEDOUT);
    }
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    uint64_t packets = limit < BATCH_PACKETS ? limit : BATCH_PACKETS;
    for (uint64_t i = 0; i < packets; i++)
        send_packet(task);
    count(&received[task->plan->tasks + task->index], packets);
    return packets;
}

static uint64_t peer_count(const struct plan *plan)
{
    uint64_t packets = 0;
    for (unsigned i = 0; i < plan->tasks; i++)
        /* Relaxed: see count(). */
        packets += atomic_load_explicit(&received[i].packets, memory_order_relaxed);
    return packets;
}

static struct moment now(const struct plan *plan)
{
    struct moment moment = {.at_ns = clock_now_ns()};
    struct end_count far;
    /* Received first: packets sent meanwhile then count as lost, never as received twice. */
    if (ends_received(&far)) {
        moment.at_ns = far.at_ns;
        moment.received = far.count;
    } else {
        moment.received = peer_count(plan);
    }
    for (unsigned i = 0; i < plan->tasks; i++)
        moment.sent += atomic_load_explicit(&received[plan->tasks + i].packets, memory_order_relaxed);
    return moment;
}

static void at_begin(const struct plan *plan)
{
    begin = now(plan);
}

static void at_end(const struct plan *plan)
{
    end = now(plan);
}

static void conclude(const struct plan *plan, const struct region *region)
{
    (void)plan;
    (void)region;
    double seconds = (double)(end.at_ns - begin.at_ns) / NS_PER_S;
    double arrived = (double)(end.received - begin.received), sent = (double)(end.sent - begin.sent);
    protocol_line("measure received packet/s higher %.3f", arrived / seconds);
    /* Packets in flight at the begin may have arrived since. */
    if (sent > 0)
        protocol_line("measure lost_ratio 1 lower %.6f", arrived < sent ? 1 - arrived / sent : 0.0);
}

static const struct variant variants[] = {
    [IPV4] = {"ipv4", "over IPv4", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [IPV6] = {"ipv6", "over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload udp_stream = {
    .name = "udp_stream",
    .summary = "sends UDP packets to a process that receives them",
    .operation = "packet",
    .unit = "packet/s",
    .window_ms = 300,
    .default_size = 1400,
    .size_text = "bytes of each packet",
    .most_size = SOCKETS_DATAGRAM_MAX,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 512,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .state_bytes = sizeof(struct stream_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .peer = peer,
    .peer_count = peer_count,
    .at_begin = at_begin,
    .at_end = at_end,
    .conclude = conclude,
};
