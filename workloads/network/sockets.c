/* See sockets.h. */
#include "network/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/ends.h"
#include "harness/failure.h"
#include "harness/protocol.h"
#include "harness/task.h"

enum { BACKLOG = 128 };

static const char loopback[] = "127.0.0.1,::1";

/* Address of all peers, here or at another end, without a port. */
static union socket_address peers_at;

/*
 * Contains the port of each task's peer. Tasks are forked after the coordinator has read, from a
 * pipe or from the connection to another end, that a peer is ready, so they see it.
 */
static struct ends_peers *shared;

/*
 * Ends the execution if the system lacks this address (its own, or that of another end) or a route
 * to it. Returns the own address from which there is a route.
 */
static union socket_address try_address(const char *name, bool is_own, const char *no_way)
{
    const char *step = "socket";
    union socket_address address = peers_at;
    socklen_t bytes = address_bytes(&address);
    address_set_port(&address, htons(ENDS_PORT)); /* any port will do, because no packet is sent */
    int trial = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_there = trial >= 0;
    union socket_address own;
    socklen_t own_bytes = sizeof own;
    if (is_there && is_own) {
        step = "bind";
        address_set_port(&address, 0);
        is_there = bind(trial, &address.any, bytes) == 0 && getsockname(trial, &address.any, &bytes) == 0;
    }
    if (is_there) {
        step = "connect";
        is_there = connect(trial, &address.any, bytes) == 0 && getsockname(trial, &own.any, &own_bytes) == 0;
    }
    const char *family = address.any.sa_family == AF_INET6 ? "IPv6" : "IPv4";
    if (!is_there && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == EADDRNOTAVAIL))
        failure_unsupported(step, "this system has no %s: it has no address %s", family, name);
    if (!is_there && (errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN))
        failure_unsupported(step, "%s: no route to %s", no_way, name);
    if (!is_there)
        failure_os(step, errno);
    close(trial);
    return own;
}

void sockets_prepare(const struct plan *plan, bool wants_ipv6)
{
    const char *list = plan->receiver != NULL ? plan->receiver : plan->at != NULL ? plan->at : loopback;
    char name[INET6_ADDRSTRLEN];
    if (!address_read(list, wants_ipv6 ? AF_INET6 : AF_INET, &peers_at))
        failure_unsupported("address", "this network has no %s: its address is %s", wants_ipv6 ? "IPv6" : "IPv4", list);
    const void *bytes = wants_ipv6 ? (const void *)&peers_at.ipv6.sin6_addr : (const void *)&peers_at.ipv4.sin_addr;
    inet_ntop(peers_at.any.sa_family, bytes, name, sizeof name);
    union socket_address own =
        try_address(name, plan->receiver == NULL, list == loopback ? "the loopback device is down" : "a device is down, or a route missing");
    protocol_line("note address %s", name);
    size_t bytes_shared = sizeof *shared + plan->tasks * sizeof *shared->port;
    shared = mmap(NULL, bytes_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (shared == MAP_FAILED)
        failure_os("mmap", errno);
    if (plan->role != NULL)
        ends_share(shared);
    else
        ends_connect(plan, &own, shared);
}

static union socket_address peer_of(const struct task *task)
{
    union socket_address address = peers_at;
    address_set_port(&address, shared->port[task->index]);
    return address;
}

static int open_socket(struct task *task, int type)
{
    int opened = socket(peers_at.any.sa_family, type | SOCK_CLOEXEC, 0);
    if (opened < 0)
        task_fail(task, "socket", errno);
    return opened;
}

int sockets_bind(struct task *task, int type)
{
    int bound = open_socket(task, type);
    if (bind(bound, &peers_at.any, address_bytes(&peers_at)) != 0)
        task_fail(task, "bind", errno);
    if (type == SOCK_STREAM && listen(bound, BACKLOG) != 0)
        task_fail(task, "listen", errno);
    return bound;
}

void sockets_publish(struct task *peer, int socket)
{
    union socket_address address;
    socklen_t bytes = sizeof address;
    if (getsockname(socket, &address.any, &bytes) != 0)
        task_fail(peer, "getsockname", errno);
    shared->port[peer->index] = address_port(&address);
}

int sockets_connect(struct task *task, int type)
{
    int connected = open_socket(task, type);
    sockets_limit(task, connected);
    union socket_address address = peer_of(task);
    if (connect(connected, &address.any, address_bytes(&address)) != 0)
        sockets_fail(task, "connect", errno);
    return connected;
}

bool sockets_serve(const union socket_address *from)
{
    if (!shared->serve_measured_only)
        return true;
    const struct in6_addr mapped = address_mapped(from);
    for (size_t i = 0; i < ENDS_ADDRESSES; i++)
        if (memcmp(&shared->measured[i], &mapped, sizeof mapped) == 0)
            return true;
    return false;
}

ssize_t sockets_receive_first(struct task *peer, int bound, char *data, size_t bytes)
{
    if (!shared->serve_measured_only)
        return recv(bound, data, bytes, 0);
    for (;;) {
        union socket_address from;
        socklen_t from_bytes = sizeof from;
        ssize_t n = recvfrom(bound, data, bytes, 0, &from.any, &from_bytes);
        if (n < 0 || sockets_serve(&from)) {
            if (n >= 0 && connect(bound, &from.any, from_bytes) != 0)
                task_fail(peer, "connect", errno);
            return n;
        }
    }
}

int sockets_accept(struct task *peer, int listener)
{
    for (;;) {
        union socket_address from;
        socklen_t bytes = sizeof from;
        int accepted = accept(listener, &from.any, &bytes);
        if (accepted >= 0 && sockets_serve(&from)) {
            fcntl(accepted, F_SETFD, FD_CLOEXEC);
            return accepted;
        }
        if (accepted >= 0)
            close(accepted);
        else if (errno != EINTR && errno != ECONNABORTED)
            task_fail(peer, "accept", errno);
    }
}

void sockets_limit(struct task *task, int socket)
{
    const struct timeval limit = {.tv_sec = SOCKETS_LIMIT_S};
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
        task_fail(task, "setsockopt", errno);
}

void sockets_no_delay(struct task *task, int socket)
{
    int yes = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        task_fail(task, "setsockopt", errno);
}

void sockets_nonblocking(struct task *task, int socket)
{
    if (fcntl(socket, F_SETFL, O_NONBLOCK) != 0)
        task_fail(task, "fcntl", errno);
}

_Noreturn void sockets_fail(struct task *task, const char *step, int error)
{
    /* Linux reports EINPROGRESS for a connection that was not established within SO_SNDTIMEO. */
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINPROGRESS || error == ETIMEDOUT)
        task_fail_text(task, step, ETIMEDOUT, "the other end did not answer within %d s", SOCKETS_LIMIT_S);
    task_fail(task, step, error);
}

int sockets_send_all(int socket, const char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(socket, data + done, bytes - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int sockets_receive_all(int socket, char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = recv(socket, data + done, bytes - done, 0);
        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/*
 * Bytes done by a call: 0 if it would have blocked or was interrupted; -1 with errno for any other
 * failure.
 */
static ssize_t done_now(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : result;
}

int sockets_exchange(int out, size_t out_bytes, int in, size_t in_bytes, char *data, int limit_ms)
{
    size_t sent = 0, received = 0;
    while (sent < out_bytes || received < in_bytes) {
        ssize_t n_out = sent < out_bytes ? done_now(send(out, data + sent, out_bytes - sent, MSG_NOSIGNAL)) : 0;
        ssize_t n_in = 0;
        if (received < in_bytes) {
            n_in = recv(in, data + received, in_bytes - received, 0);
            if (n_in == 0)
                errno = ECONNRESET;
            n_in = n_in == 0 ? -1 : done_now(n_in);
        }
        if (n_out < 0 || n_in < 0)
            return -1;
        sent += (size_t)n_out;
        received += (size_t)n_in;
        if (n_out > 0 || n_in > 0)
            continue;
        struct pollfd waits[] = {{.fd = sent < out_bytes ? out : -1, .events = POLLOUT},
                                 {.fd = received < in_bytes ? in : -1, .events = POLLIN}};
        int ready = poll(waits, 2, limit_ms);
        if (ready == 0)
            errno = ETIMEDOUT;
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return -1;
    }
    return 0;
}

_Noreturn void sockets_rest(void)
{
    for (;;)
        pause();
}
