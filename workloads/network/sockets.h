/*
 * Sockets of a task and of its peer: on this system's loopback device, or between this end and others (harness/ends.h).
 *
 * Every wait in a socket has a limit: SOCKETS_LIMIT_S for a task, which then fails. A peer may wait for as long as it lives.
 * All descriptors close on exec. An end that is gone is an error of the call, never a signal.
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

/* Largest datagram that IPv6 carries without options, and so IPv4 too. */
enum { SOCKETS_DATAGRAM_MAX = 65487 };

/*
 * In the coordinator: finds the address at which peers are, prints `note address ADDRESS`, and connects to the execution's
 * partners. Exits by failure_unsupported() if this system has no such address, or no way to it.
 */
void sockets_prepare(const struct plan *plan, bool is_ipv6);

/* In a task or peer. Each ends it by task_fail() on failure. */

/* A socket of that type (SOCK_STREAM, SOCK_DGRAM) at this end's address and a port of the system's choice; a stream listens. */
int sockets_bind(struct task *task, int type);
/* In a peer: says where its task finds this socket. Before peer_ready(). */
void sockets_publish(struct task *peer, int socket);
/* A socket that is connected to what the peer of this task has published. */
int sockets_connect(struct task *task, int type);
/* In a peer: whether what comes from there is served. All is, unless the task runs at another end. */
bool sockets_serve(const union socket_address *from);
/*
 * In a peer that only receives: as recv() of the next packet of a bound socket, which from then on takes packets from where that one
 * came alone, unless all are served. So the first one from an address that is not served is passed over.
 */
ssize_t sockets_receive_first(struct task *peer, int bound, char *data, size_t bytes);
/* The next connection of a listening socket that is served, without limit of time. */
int sockets_accept(struct task *peer, int listener);

/* Limits each wait in that socket to SOCKETS_LIMIT_S; it then fails with EAGAIN. */
void sockets_limit(struct task *task, int socket);
/* Small messages leave at once (TCP_NODELAY). */
void sockets_no_delay(struct task *task, int socket);
void sockets_nonblocking(struct task *task, int socket);

/* Ends the task because of a socket call that failed with that errno; EAGAIN means that the limit has passed. */
_Noreturn void sockets_fail(struct task *task, const char *step, int error);

/* Sends or receives exactly `bytes`. Return 0, or -1 with errno; an end of the connection is ECONNRESET. */
int sockets_send_all(int socket, const char *data, size_t bytes);
int sockets_receive_all(int socket, char *data, size_t bytes);

/*
 * Sends `out_bytes` to `out` and receives `in_bytes` from `in`, whichever is ready first; both are non-blocking, and may be the
 * same. `data` holds the larger of both. limit_ms: of each wait, -1 for none. Returns 0, or -1 with errno.
 */
int sockets_exchange(int out, size_t out_bytes, int in, size_t in_bytes, char *data, int limit_ms);

/* In a peer whose task has ended: waits to be killed. */
_Noreturn void sockets_rest(void);

#endif
