/*
 * The ends of an execution that has partners: other executions of the same program, in the roles of a receiver and a forwarder,
 * each on a machine of its own or in a network of its own (docs/FORMATS.md, §3).
 *
 * The measured execution has a TCP connection to each partner, to the port ENDS_PORT. Over it, it learns where its tasks find
 * their peers, says when the region of interest begins and ends, so that all ends count over the same time, and tells when its
 * tasks have ended. Each of these waits has a limit, ENDS_LIMIT_S.
 *
 * Both have the same token (the environment's FAULTLINE_TOKEN), which the measured execution says first: a partner serves nobody
 * else, and its peers take connections, and answer packets, from that execution's addresses alone. It keeps strangers out, not
 * those who read the wire.
 */
#ifndef FAULTLINE_ENDS_H
#define FAULTLINE_ENDS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "counters.h"
#include "workload.h"

enum { ENDS_PORT = 24719, ENDS_LIMIT_S = 10 };

/* What is needed to listen anywhere but on the loopback device: this many hexadecimal digits. */
#define ENDS_TOKEN "FAULTLINE_TOKEN"
enum { ENDS_TOKEN_BYTES = 32 };

enum { ENDS_ADDRESSES = 2 };

/* Memory that a coordinator and its peers share. */
struct ends_peers {
    /*
     * A partner's peers serve these addresses alone (address_mapped()). The coordinator writes them before the measured execution
     * learns the ports, so before anything comes from it.
     */
    bool serve_measured_only;
    struct in6_addr measured[ENDS_ADDRESSES];
    /* Where each peer can be found, in network order. It writes that before it reports that it is ready. */
    in_port_t port[];
};

/* What a partner has counted at a moment. */
struct end_count {
    uint64_t at_ns;               /* by its own clock */
    uint64_t count;               /* workload.peer_count() */
};

/* Whether the execution has partners, or is one. */
bool ends_are_apart(const struct plan *plan);

/* In a measured execution; without partners these do nothing. Each exits by failure_*() if a partner does not answer. */

/*
 * Connects to all partners. own: the address from which tasks send. Of a receiver, the ports of its peers are taken into `peers`.
 */
void ends_connect(const struct plan *plan, const union socket_address *own, struct ends_peers *peers);
/* The region of interest begins, or has ended, at all ends. */
void ends_begin(void);
void ends_end(void);
/* All tasks have ended: the partners may end too. */
void ends_leave(void);
/* What the receiver counted when the region began or ended; the last of both. False if there is no receiver. */
bool ends_received(struct end_count *count);

/* In a partner. */

/* Before its peers start: what they share with it. */
void ends_share(struct ends_peers *peers);
/* Listens. Before `ready`. */
void ends_listen(const struct plan *plan);
/* Waits for the measured execution, and tells it the ports; then until the region begins. */
void ends_await_begin(const struct plan *plan);
/* Waits until the region ends, and after the answer until all tasks of the measured execution have ended. */
void ends_await_end(void);
void ends_await_leave(void);
void ends_answer(struct end_count count);

/*
 * After the region, at every end: prints the CPU time of the whole machine and the packets that it dropped, each second between the
 * two readings, as measures. The readings enclose the region.
 */
void ends_print(const struct counters *before, const struct counters *after);

#endif
