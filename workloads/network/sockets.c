/* See sockets.h. */
#include "network/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/failure.h"
#include "harness/protocol.h"
#include "harness/tasks.h"

enum { BACKLOG = 128 };

static bool is_ipv6;

/*
 * Where each task finds its peer. Written by the peer before it reports that it is ready; the tasks are forked after the
 * coordinator has read that report from a pipe, so they see it.
 */
static union socket_address *published;

static socklen_t address_bytes(void)
{
    return is_ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* The loopback address with no port. */
static union socket_address loopback(void)
{
    union socket_address address;
    memset(&address, 0, sizeof address);
    if (is_ipv6) {
        address.ipv6.sin6_family = AF_INET6;
        address.ipv6.sin6_addr = in6addr_loopback;
    } else {
        address.ipv4.sin_family = AF_INET;
        address.ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    return address;
}

/* Ends the execution if the system lacks that address, or the way to it. */
static void try_address(const char *name)
{
    const char *step = "socket";
    union socket_address address = loopback();
    socklen_t bytes = address_bytes();
    int trial = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_there = trial >= 0;
    if (is_there) {
        step = "bind";
        is_there = bind(trial, &address.any, bytes) == 0 && getsockname(trial, &address.any, &bytes) == 0;
    }
    if (is_there) {
        step = "connect";
        is_there = connect(trial, &address.any, bytes) == 0;
    }
    if (!is_there && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == EADDRNOTAVAIL))
        failure_unsupported(step, "this system has no %s: it has no address %s", is_ipv6 ? "IPv6" : "IPv4", name);
    if (!is_there && (errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN))
        failure_unsupported(step, "the loopback device is down: there is no way to %s", name);
    if (!is_there)
        failure_os(step, errno);
    close(trial);
}

void sockets_prepare(const struct plan *plan, bool wants_ipv6)
{
    is_ipv6 = wants_ipv6;
    const char *name = is_ipv6 ? "::1" : "127.0.0.1";
    try_address(name);
    protocol_line("note address %s", name);
    published = mmap(NULL, plan->tasks * sizeof *published, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (published == MAP_FAILED)
        failure_os("mmap", errno);
}

static int open_socket(struct task *task, int type)
{
    int opened = socket(is_ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
    if (opened < 0)
        task_fail(task, "socket", errno);
    return opened;
}

int sockets_bind(struct task *task, int type)
{
    int bound = open_socket(task, type);
    union socket_address address = loopback();
    if (bind(bound, &address.any, address_bytes()) != 0)
        task_fail(task, "bind", errno);
    if (type == SOCK_STREAM && listen(bound, BACKLOG) != 0)
        task_fail(task, "listen", errno);
    return bound;
}

void sockets_publish(struct task *peer, int socket)
{
    socklen_t bytes = sizeof published[peer->index];
    if (getsockname(socket, &published[peer->index].any, &bytes) != 0)
        task_fail(peer, "getsockname", errno);
}

int sockets_connect(struct task *task, int type)
{
    int connected = open_socket(task, type);
    sockets_limit(task, connected);
    if (connect(connected, &published[task->index].any, address_bytes()) != 0)
        sockets_fail(task, "connect", errno);
    return connected;
}

int sockets_accept(struct task *peer, int listener)
{
    for (;;) {
        int accepted = accept(listener, NULL, NULL);
        if (accepted >= 0) {
            fcntl(accepted, F_SETFD, FD_CLOEXEC);
            return accepted;
        }
        if (errno != EINTR && errno != ECONNABORTED)
            task_fail(peer, "accept", errno);
    }
}

char *sockets_new_data(struct task *task)
{
    char *data = malloc(task->plan->size);
    if (data == NULL)
        task_fail(task, "malloc", ENOMEM);
    memset(data, 'F', task->plan->size);
    return data;
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
    /* Linux says EINPROGRESS of a connection that did not come about within SO_SNDTIMEO. */
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

/* How much of a call's result was done; -1 with errno if it failed for another reason than that it would have waited. */
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
