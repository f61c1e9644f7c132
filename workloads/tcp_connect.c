/*
 * tcp_connect: one operation opens a TCP connection to the task's peer, a process on the same CPU,
 * which accepts and closes it. The task waits for that close, and closes its own end.
 *
 * The task closes by a reset. Otherwise each connection would occupy a port for a minute after its
 * end, and ports would run out within seconds.
 */
#include <errno.h>
#include <unistd.h>

#include "harness/task.h"
#include "harness/workload.h"
#include "network/sockets.h"

enum { IPV4, IPV6 };

static void prepare(const struct plan *plan)
{
    sockets_prepare(plan, plan_variant(plan) == IPV6);
}

static void peer(struct task *task)
{
    int listener = sockets_bind(task, SOCK_STREAM);
    sockets_publish(task, listener);
    peer_ready(task);
    for (;;)
        close(sockets_accept(task, listener));
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    int connection = sockets_connect(task, SOCK_STREAM);
    char byte;
    ssize_t n = recv(connection, &byte, 1, 0);
    if (n != 0)
        sockets_fail(task, "recv", n < 0 ? errno : EPROTO);
    const struct linger reset = {.l_onoff = 1};
    if (setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0)
        task_fail(task, "setsockopt", errno);
    close(connection);
    return 1;
}

static const struct variant variants[] = {
    [IPV4] = {"ipv4", "over IPv4", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [IPV6] = {"ipv6", "over IPv6", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload tcp_connect = {
    .name = "tcp_connect",
    .summary = "opens and closes TCP connections",
    .operation = "connection",
    .unit = "connection/s",
    .window_ms = 300,
    .lens_operations = 128,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .uses_network = true,
    .prepare = prepare,
    .batch = batch,
    .peer = peer,
};
