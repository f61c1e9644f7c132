/* See ends.h. */
#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "address.h"
#include "clock.h"
#include "failure.h"
#include "protocol.h"
#include "tasks.h"

enum { MOST_PARTNERS = 2, WORD_BYTES = 8, BACKLOG = 16 };

/* The measured execution's first message: its token, and the address from which its tasks send. */
enum { HELLO_BYTES = ENDS_TOKEN_BYTES + sizeof(struct in6_addr) };

/* Time limit for that message, and maximum number of callers that have not sent it yet. */
enum { HELLO_LIMIT_S = 2, MOST_CALLERS = 16 };

/* Interval between polls of the callers. */
#define LOOK_NS (10 * NS_PER_MS)
enum { BEGIN = 'b', END = 'e', LEAVE = 'l' };

/* A partner's first word: identity and protocol version. */
#define GREETING UINT64_C(0x6661756c740002)

struct partner {
    const char *role;
    int connection;
};

static struct partner partners[MOST_PARTNERS];
static unsigned partner_count;
static struct end_count received;
static bool has_receiver;

/* In a partner. */
static int listener = -1;
static int connection = -1;
static struct ends_peers *shared;

bool ends_are_apart(const struct plan *plan)
{
    return plan->role != NULL || plan->receiver != NULL || plan->forwarder != NULL;
}

/* A closed connection is an error of the call, never a signal. Returns 0, or an errno. */
static int send_all(int to, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(to, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int receive_all(int from, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = recv(from, (char *)data + done, bytes - done, 0);
        if (n == 0)
            return ECONNRESET;
        if (n < 0 && errno != EINTR)
            return errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Most significant byte first, on all machines. */
static void put_word(unsigned char *bytes, uint64_t word)
{
    for (unsigned i = 0; i < WORD_BYTES; i++)
        bytes[i] = (unsigned char)(word >> (8 * (WORD_BYTES - 1 - i)));
}

static uint64_t word_of(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        word = word << 8 | bytes[i];
    return word;
}

static void set_up(int socket)
{
    const struct timeval limit = {.tv_sec = ENDS_LIMIT_S};
    int yes = 1;
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        failure_os("setsockopt", errno);
}

/* ---- in the measured execution ---- */

static _Noreturn void fail(const struct partner *partner, int error)
{
    /* Linux reports EINPROGRESS for a connection that was not established within SO_SNDTIMEO. */
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINPROGRESS || error == ETIMEDOUT)
        failure_os_text("control", ETIMEDOUT, "the %s did not answer within %d s", partner->role, ENDS_LIMIT_S);
    failure_os_text("control", error, "the %s: %s", partner->role, strerror(error));
}

static void receive(const struct partner *partner, void *data, size_t bytes)
{
    int error = receive_all(partner->connection, data, bytes);
    if (error != 0)
        fail(partner, error);
}

/* Receives a partner's first message: the greeting, the number of ports, these ports. */
static void be_greeted(const struct partner *partner, in_port_t *ports, unsigned wanted)
{
    unsigned char words[2 * WORD_BYTES];
    receive(partner, words, sizeof words);
    if (word_of(words) != GREETING || word_of(words + WORD_BYTES) != wanted)
        failure_os_text("control", EPROTO, "the %s is no partner of this execution", partner->role);
    receive(partner, ports, wanted * sizeof *ports);
}

static void say_hello(const struct partner *partner, const char *token, const union socket_address *own)
{
    const struct in6_addr from = address_mapped(own);
    unsigned char hello[HELLO_BYTES];
    memcpy(hello, token, ENDS_TOKEN_BYTES);
    memcpy(hello + ENDS_TOKEN_BYTES, &from, sizeof from);
    int error = send_all(partner->connection, hello, sizeof hello);
    if (error != 0)
        fail(partner, error);
}

/* Returns the partner, whose greeting has not arrived yet. */
static const struct partner *connect_to(const char *role, const char *list)
{
    struct partner *partner = &partners[partner_count++];
    *partner = (struct partner){.role = role};
    union socket_address address;
    if (!address_read(list, AF_UNSPEC, &address))
        failure_os_text("control", EINVAL, "the %s has no address", role); /* not reached: the option was checked */
    address_set_port(&address, htons(ENDS_PORT));
    partner->connection = socket(address.any.sa_family, SOCK_STREAM, 0);
    if (partner->connection < 0)
        failure_os("socket", errno);
    set_up(partner->connection);
    if (connect(partner->connection, &address.any, address_bytes(&address)) != 0)
        fail(partner, errno);
    return partner;
}

static void meet(const char *role, const char *list, const struct plan *plan, const union socket_address *own, in_port_t *ports,
                 unsigned wanted)
{
    const struct partner *partner = connect_to(role, list);
    say_hello(partner, plan->token, own);
    be_greeted(partner, ports, wanted);
}

void ends_connect(const struct plan *plan, const union socket_address *own, struct ends_peers *peers)
{
    if (plan->receiver != NULL) {
        has_receiver = true;
        meet(ROLE_RECEIVER, plan->receiver, plan, own, peers->port, plan->tasks);
    }
    if (plan->forwarder != NULL)
        meet(ROLE_FORWARDER, plan->forwarder, plan, own, peers->port, 0);
}

/*
 * Asks all partners at once, so that their regions differ by at most one network delay. The
 * receiver is the first.
 */
static void ask(char what)
{
    for (unsigned i = 0; i < partner_count; i++) {
        int error = send_all(partners[i].connection, &what, 1);
        if (error != 0)
            fail(&partners[i], error);
    }
    for (unsigned i = 0; i < partner_count; i++) {
        unsigned char words[2 * WORD_BYTES];
        receive(&partners[i], words, sizeof words);
        if (i == 0 && has_receiver)
            received = (struct end_count){.at_ns = word_of(words), .count = word_of(words + WORD_BYTES)};
    }
}

void ends_begin(void)
{
    ask(BEGIN);
}

void ends_end(void)
{
    ask(END);
}

void ends_leave(void)
{
    const char leave = LEAVE;
    for (unsigned i = 0; i < partner_count; i++) {
        int error = send_all(partners[i].connection, &leave, 1);
        if (error != 0)
            fail(&partners[i], error);
    }
}

bool ends_received(struct end_count *count)
{
    *count = received;
    return has_receiver;
}

/* ---- in a partner ---- */

void ends_listen(const struct plan *plan)
{
    union socket_address address;
    if (!address_read(plan->at != NULL ? plan->at : "127.0.0.1", AF_UNSPEC, &address))
        failure_os_text("control", EINVAL, "no address"); /* not reached: the option was checked */
    address_set_port(&address, htons(ENDS_PORT));
    listener = socket(address.any.sa_family, SOCK_STREAM, 0);
    int yes = 1;
    if (listener < 0)
        failure_os("socket", errno);
    fcntl(listener, F_SETFD, FD_CLOEXEC);
    /*
     * Connections of the previous execution may still wait for their last packets. A second
     * listener is refused nevertheless.
     */
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
        failure_os("setsockopt", errno);
    if (bind(listener, &address.any, address_bytes(&address)) != 0)
        failure_os_text("bind", errno, "port %d: %s", ENDS_PORT, strerror(errno));
    /* Otherwise accept() would block for a caller that has gone meanwhile. */
    if (fcntl(listener, F_SETFL, O_NONBLOCK) != 0)
        failure_os("fcntl", errno);
    if (listen(listener, BACKLOG) != 0)
        failure_os("listen", errno);
}

/*
 * The measured execution has failed, or the data does not come from one. Waits to be killed by the
 * process that started both ends, so that its failure is reported rather than this partner's exit.
 */
static _Noreturn void rest(void)
{
    close(connection);
    tasks_watch(-1);
    abort(); /* not reached */
}

/* Waits for the next byte from the measured execution, for as long as the peers live. */
static void await(char wanted)
{
    char byte = 0;
    tasks_watch(connection);
    if (recv(connection, &byte, 1, 0) != 1 || byte != wanted)
        rest();
}

void ends_share(struct ends_peers *peers)
{
    peers->serve_measured_only = true;
    shared = peers;
}

/* Compares in constant time, so that the time does not reveal the first difference. */
static bool same_token(const unsigned char *said, const char *token)
{
    unsigned difference = 0;
    for (size_t i = 0; i < ENDS_TOKEN_BYTES; i++)
        difference |= said[i] ^ (unsigned char)token[i];
    return difference == 0;
}

/* A caller, and its data so far. */
struct caller {
    int socket;
    uint64_t until_ns;
    union socket_address from;
    size_t said;
    unsigned char hello[HELLO_BYTES];
};

static struct caller callers[MOST_CALLERS];
static unsigned caller_count;

static void forget_caller(unsigned at)
{
    caller_count--;
    memmove(&callers[at], &callers[at + 1], (caller_count - at) * sizeof callers[0]);
}

static void send_away(unsigned at)
{
    close(callers[at].socket);
    forget_caller(at);
}

/*
 * Accepts all waiting callers. If there are too many, drops the first, which have had the most
 * time.
 */
static void take_callers(void)
{
    for (;;) {
        struct caller caller = {.until_ns = clock_now_ns() + HELLO_LIMIT_S * NS_PER_S};
        socklen_t bytes = sizeof caller.from;
        caller.socket = accept(listener, &caller.from.any, &bytes);
        if (caller.socket < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (caller.socket < 0 && errno != EINTR && errno != ECONNABORTED)
            failure_os("accept", errno);
        if (caller.socket < 0)
            continue;
        fcntl(caller.socket, F_SETFD, FD_CLOEXEC);
        if (caller_count == MOST_CALLERS)
            send_away(0);
        callers[caller_count++] = caller;
    }
}

enum heard { HEARD_ALL, HEARD_SOME, HEARD_LAST };

/* Reads a caller's data so far. */
static enum heard hear(struct caller *caller)
{
    ssize_t n = recv(caller->socket, caller->hello + caller->said, sizeof caller->hello - caller->said, MSG_DONTWAIT);
    bool is_silent = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    caller->said += n > 0 ? (size_t)n : 0;
    if (caller->said == sizeof caller->hello)
        return HEARD_ALL;
    return (n <= 0 && !is_silent) || clock_now_ns() > caller->until_ns ? HEARD_LAST : HEARD_SOME;
}

/* Accepts the connection of the measured execution, whose addresses are served from now on. */
static void let_in(unsigned at)
{
    connection = callers[at].socket;
    /*
     * Behind an address-translating router, the address of this connection differs from the
     * execution's own address.
     */
    shared->measured[0] = address_mapped(&callers[at].from);
    memcpy(&shared->measured[1], callers[at].hello + ENDS_TOKEN_BYTES, sizeof shared->measured[1]);
    forget_caller(at);
    fcntl(connection, F_SETFL, 0); /* on the BSDs it inherits the listener's flags */
    set_up(connection);
}

/* Polls all callers once. Returns true if the measured execution is among them. */
static bool hear_callers(const char *token)
{
    for (unsigned i = 0; i < caller_count;) {
        enum heard heard = hear(&callers[i]);
        if (heard == HEARD_ALL && same_token(callers[i].hello, token)) {
            let_in(i);
            return true;
        }
        if (heard == HEARD_SOME)
            i++;
        else
            send_away(i);
    }
    return false;
}

/*
 * Waits for the measured execution. Strangers delay no one: all callers are polled together, each
 * for a limited time.
 */
static void accept_measured(const char *token)
{
    do {
        if (caller_count == 0)
            tasks_watch(listener);
        else
            tasks_wait_until(clock_now_ns() + LOOK_NS);
        take_callers();
    } while (!hear_callers(token));
    while (caller_count > 0)
        send_away(0);
}

static void greet(unsigned count)
{
    unsigned char words[2 * WORD_BYTES];
    put_word(words, GREETING);
    put_word(words + WORD_BYTES, count);
    if (send_all(connection, words, sizeof words) != 0 || send_all(connection, shared->port, count * sizeof *shared->port) != 0)
        rest();
}

void ends_await_begin(const struct plan *plan)
{
    accept_measured(plan->token);
    close(listener);
    greet(strcmp(plan->role, ROLE_RECEIVER) == 0 ? plan->tasks : 0);
    await(BEGIN);
}

void ends_await_end(void)
{
    await(END);
}

void ends_await_leave(void)
{
    await(LEAVE);
}

void ends_answer(struct end_count count)
{
    unsigned char words[2 * WORD_BYTES];
    put_word(words, count.at_ns);
    put_word(words + WORD_BYTES, count.count);
    if (send_all(connection, words, sizeof words) != 0)
        rest();
}

/* ---- at every end ---- */

static double change(const struct counters *before, const struct counters *after, const char *name)
{
    int64_t change;
    return counters_change(before, after, name, &change) ? (double)change : 0;
}

void ends_print(const struct counters *before, const struct counters *after)
{
    double seconds = (double)(after->at_ns - before->at_ns) / NS_PER_S;
    static const char *const busy[] = {"stat.user_ns", "stat.system_ns", "stat.irq_ns"};
    static const char *const dropped[] = {"net.Udp.RcvbufErrors", "net.Udp6RcvbufErrors", "net.devices.dropped"};
    double busy_ns = 0, packets = 0;
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++)
        busy_ns += change(before, after, busy[i]);
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        packets += change(before, after, dropped[i]);
    protocol_line("measure machine_cpus_busy CPUs lower %.6f", busy_ns / NS_PER_S / seconds);
    protocol_line("measure dropped packet/s lower %.3f", packets / seconds);
}
