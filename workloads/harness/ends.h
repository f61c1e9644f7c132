/*
 * The ends of an execution with partners: other executions of the same program, as receiver and
 * forwarder, each on its own machine or in its own network (docs/FORMATS.md, §3).
 *
 * The measured execution has a TCP connection to each partner, to the port ENDS_PORT. Over it, it
 * learns the ports of its tasks' peers, announces the begin and end of the region of interest, so
 * that all ends count over the same time, and announces the end of its tasks. Each of these waits
 * has the limit ENDS_LIMIT_S.
 *
 * Both ends have the same token (the environment's FAULTLINE_TOKEN), which the measured execution
 * sends first. A partner serves no one else, and its peers accept connections, and answer packets,
 * only from that execution's addresses. The token keeps strangers out, but not those who read the
 * traffic.
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

/* Required to listen on any address but the loopback device's: this many hexadecimal digits. */
#define ENDS_TOKEN "FAULTLINE_TOKEN"
enum { ENDS_TOKEN_BYTES = 32 };

enum { ENDS_ADDRESSES = 2 };

/* Memory shared by a coordinator and its peers. */
struct ends_peers {
    /*
     * If set, a partner's peers serve only these addresses (address_mapped()). The coordinator
     * writes them before the measured execution learns the ports, so before any data arrives.
     */
    bool serve_measured_only;
    struct in6_addr measured[ENDS_ADDRESSES];
    /*
     * The port of each peer, in network order. A peer writes it before it reports that it is ready.
     */
    in_port_t port[];
};

/* A partner's count at a moment. */
struct end_count {
    uint64_t at_ns;               /* by the partner's clock */
    uint64_t count;               /* workload.peer_count() */
};

/* True if the execution has partners or is one. */
bool ends_are_apart(const struct plan *plan);

/*
 * In a measured execution; without partners these do nothing. Each exits by failure_*() if a
 * partner does not answer.
 */

/*
 * Connects to all partners. own: the address from which tasks send. The ports of a receiver's peers
 * are stored in `peers`.
 */
void ends_connect(const struct plan *plan, const union socket_address *own, struct ends_peers *peers);
/* The region of interest begins, or has ended, at all ends. */
void ends_begin(void);
void ends_end(void);
/* All tasks have ended, so the partners may end too. */
void ends_leave(void);
/*
 * The receiver's count when the region began or ended, whichever was last. False if there is no
 * receiver.
 */
bool ends_received(struct end_count *count);

/* In a partner. */

/* Before its peers start: sets the memory shared with them. */
void ends_share(struct ends_peers *peers);
/* Listens. Call it before `ready`. */
void ends_listen(const struct plan *plan);
/* Waits for the measured execution, sends it the ports, and waits until the region begins. */
void ends_await_begin(const struct plan *plan);
/*
 * Waits until the region ends, and after the answer until all tasks of the measured execution have
 * ended.
 */
void ends_await_end(void);
void ends_await_leave(void);
void ends_answer(struct end_count count);

/*
 * After the region, at every end: prints the CPU time of the whole machine and its dropped packets,
 * per second between the two readings, as measures. The readings enclose the region.
 */
void ends_print(const struct counters *before, const struct counters *after);

#endif
