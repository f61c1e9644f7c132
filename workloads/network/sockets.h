/*
 * Sockets of a task and of its peer: on this system's loopback device, or between this end and
 * others (harness/ends.h).
 *
 * Every wait on a socket has a limit: SOCKETS_LIMIT_S for a task, which then fails. A peer may wait
 * as long as it lives. All descriptors close on exec. A closed other end is an error of the call,
 * never a signal.
 */
#ifndef FAULTLINE_SOCKETS_H
#define FAULTLINE_SOCKETS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "harness/address.h"
#include "harness/workload.h"

enum { SOCKETS_LIMIT_S = 10 };

/* Largest datagram over IPv6 without options, and so over IPv4 too. */
enum { SOCKETS_DATAGRAM_MAX = 65487 };

/*
 * In the coordinator: finds the peers' address, prints `note address ADDRESS`, and connects to the
 * execution's partners. Exits by failure_unsupported() if this system has no such address, or no
 * route to it.
 */
void sockets_prepare(const struct plan *plan, bool is_ipv6);

/* In a task or peer. Each ends it by task_fail() on failure. */

/*
 * A socket of this type (SOCK_STREAM, SOCK_DGRAM) at this end's address and a port chosen by the
 * system; a stream socket listens.
 */
int sockets_bind(struct task *task, int type);
/* In a peer: publishes the address of this socket to its task. Call it before peer_ready(). */
void sockets_publish(struct task *peer, int socket);
/* A socket connected to the one published by this task's peer. */
int sockets_connect(struct task *task, int type);
/*
 * In a peer: true if packets from this address are served. All are, unless the task runs at another
 * end.
 */
bool sockets_serve(const union socket_address *from);
/*
 * In a peer that only receives: like recv() of the next packet of a bound socket, and connects the
 * socket to the sender, unless all senders are served. Packets from addresses that are not served
 * are skipped.
 */
ssize_t sockets_receive_first(struct task *peer, int bound, char *data, size_t bytes);
/* The next served connection of a listening socket, without a time limit. */
int sockets_accept(struct task *peer, int listener);

/* Limits each wait on the socket to SOCKETS_LIMIT_S; then it fails with EAGAIN. */
void sockets_limit(struct task *task, int socket);
/* Sends small messages at once (TCP_NODELAY). */
void sockets_no_delay(struct task *task, int socket);
void sockets_nonblocking(struct task *task, int socket);

/*
 * Ends the task because a socket call failed with this errno; EAGAIN means that the time limit has
 * passed.
 */
_Noreturn void sockets_fail(struct task *task, const char *step, int error);

/*
 * Sends or receives exactly `bytes`. Returns 0, or -1 with errno; a closed connection is
 * ECONNRESET.
 */
int sockets_send_all(int socket, const char *data, size_t bytes);
int sockets_receive_all(int socket, char *data, size_t bytes);

/*
 * Sends `out_bytes` to `out` and receives `in_bytes` from `in`, whichever is ready first; both are
 * non-blocking, and may be the same. `data` holds the larger of both. limit_ms: of each wait, -1
 * for none. Returns 0, or -1 with errno.
 */
int sockets_exchange(int out, size_t out_bytes, int in, size_t in_bytes, char *data, int limit_ms);

/* In a peer whose task has ended: waits to be killed. */
_Noreturn void sockets_rest(void);

#endif
