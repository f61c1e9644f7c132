/*
 * Bare loops over sockets of the loopback device. Peers are processes on the same CPU, which end
 * with their connection.
 */
#include "bare.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int own;
static char *buffer;
static struct sockaddr_in address;

static int bound_socket(int type)
{
    int bound = socket(AF_INET, type, 0);
    socklen_t bytes = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bound < 0 || bind(bound, (struct sockaddr *)&address, sizeof address) != 0)
        bare_fail("bind");
    if (type == SOCK_STREAM && listen(bound, 128) != 0)
        bare_fail("listen");
    if (getsockname(bound, (struct sockaddr *)&address, &bytes) != 0)
        bare_fail("getsockname");
    return bound;
}

static int connected_socket(int type)
{
    int connected = socket(AF_INET, type, 0);
    if (connected < 0 || connect(connected, (struct sockaddr *)&address, sizeof address) != 0)
        bare_fail("connect");
    return connected;
}

static void make_buffer(const struct bare_conditions *conditions)
{
    void *data = NULL;
    if (posix_memalign(&data, conditions->page_bytes, conditions->size) != 0)
        bare_fail("posix_memalign");
    buffer = data;
    memset(buffer, 'B', conditions->size);
}

/*
 * Starts a peer that does `serve`. A packet peer, which sees no end of connection, ends after a
 * silence.
 */
static void start_peer(const struct bare_conditions *conditions, int type, void (*serve)(int socket, size_t bytes))
{
    make_buffer(conditions);
    int bound = bound_socket(type);
    pid_t child = fork();
    if (child < 0)
        bare_fail("fork");
    if (child == 0) {
        const struct timeval silence = {.tv_sec = 2};
        setsockopt(bound, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
        dup2(STDERR_FILENO, STDOUT_FILENO); /* the bench waits for the end of our output */
        serve(bound, conditions->size);
        _exit(0);
    }
    close(bound);
}

static void no_delay(int socket)
{
    int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int read_all(int socket, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(socket, buffer + done, bytes - done);
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

static int write_all(int socket, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(socket, buffer + done, bytes - done);
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

/* ---- udp_send ---- */

void bare_udp_setup(const struct bare_conditions *conditions)
{
    make_buffer(conditions);
    int unread = bound_socket(SOCK_DGRAM);
    int least = 1;
    setsockopt(unread, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    own = connected_socket(SOCK_DGRAM);
}

static void four_clocks(void)
{
    struct timeval now;
    for (int i = 0; i < 4; i++)
        gettimeofday(&now, NULL);
}

static void wait_for_room(void)
{
    fd_set room;
    struct timeval limit = {.tv_sec = 10};
    FD_ZERO(&room);
    FD_SET(own, &room);
    if (select(own + 1, NULL, &room, NULL, &limit) != 1)
        bare_fail("select");
}

uint64_t bare_udp_loop(const struct bare_conditions *conditions, uint64_t operations)
{
    struct timeval now;
    for (uint64_t i = 0; i < operations; i++) {
        if (write(own, buffer, conditions->size) < 0)
            bare_fail("write");
        gettimeofday(&now, NULL);
        gettimeofday(&now, NULL);
        wait_for_room();
        gettimeofday(&now, NULL);
        gettimeofday(&now, NULL);
    }
    return operations;
}

uint64_t bare_udp_write(const struct bare_conditions *conditions, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        if (write(own, buffer, conditions->size) < 0)
            bare_fail("write");
    return operations;
}

uint64_t bare_udp_clock(const struct bare_conditions *conditions, uint64_t operations)
{
    (void)conditions;
    for (uint64_t i = 0; i < operations; i++)
        four_clocks();
    return operations;
}

uint64_t bare_udp_select(const struct bare_conditions *conditions, uint64_t operations)
{
    (void)conditions;
    for (uint64_t i = 0; i < operations; i++)
        wait_for_room();
    return operations;
}

/* ---- udp_stream ---- */

static void receive_packets(int bound, size_t bytes)
{
    while (recv(bound, buffer, bytes, 0) >= 0)
        continue;
}

void bare_udp_stream_setup(const struct bare_conditions *conditions)
{
    start_peer(conditions, SOCK_DGRAM, receive_packets);
    own = connected_socket(SOCK_DGRAM);
}

/* ---- tcp_stream ---- */

static void fill(int listener, size_t bytes)
{
    int connection = accept(listener, NULL, NULL);
    while (send(connection, buffer, bytes, MSG_NOSIGNAL) > 0)
        continue;
}

void bare_tcp_receive_setup(const struct bare_conditions *conditions)
{
    start_peer(conditions, SOCK_STREAM, fill);
    own = connected_socket(SOCK_STREAM);
}

uint64_t bare_tcp_receive(const struct bare_conditions *conditions, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        if (read_all(own, conditions->size) != 0)
            bare_fail("read");
    return operations;
}

/* ---- tcp_connect ---- */

static void accept_and_close(int listener, size_t bytes)
{
    (void)bytes;
    for (int connection; (connection = accept(listener, NULL, NULL)) >= 0;)
        close(connection);
}

void bare_connect_setup(const struct bare_conditions *conditions)
{
    start_peer(conditions, SOCK_STREAM, accept_and_close);
}

uint64_t bare_connect(const struct bare_conditions *conditions, uint64_t operations)
{
    (void)conditions;
    const struct linger reset = {.l_onoff = 1};
    const struct timeval limit = {.tv_sec = 10};
    char byte;
    for (uint64_t i = 0; i < operations; i++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        if (connection < 0 || setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
            setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
            connect(connection, (struct sockaddr *)&address, sizeof address) != 0 || read(connection, &byte, 1) != 0 ||
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0)
            bare_fail("connect");
        close(connection);
    }
    return operations;
}

/* ---- tcp_rr, udp_rr ---- */

static void answer(int listener, size_t bytes)
{
    int connection = accept(listener, NULL, NULL);
    no_delay(connection);
    while (read_all(connection, bytes) == 0 && write_all(connection, bytes) == 0)
        continue;
}

static void answer_packets(int bound, size_t bytes)
{
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof from;
    ssize_t n;
    while ((n = recvfrom(bound, buffer, bytes, 0, (struct sockaddr *)&from, &from_bytes)) >= 0)
        sendto(bound, buffer, (size_t)n, 0, (struct sockaddr *)&from, from_bytes);
}

void bare_tcp_rr_setup(const struct bare_conditions *conditions)
{
    start_peer(conditions, SOCK_STREAM, answer);
    own = connected_socket(SOCK_STREAM);
    no_delay(own);
}

void bare_udp_rr_setup(const struct bare_conditions *conditions)
{
    start_peer(conditions, SOCK_DGRAM, answer_packets);
    own = connected_socket(SOCK_DGRAM);
}

uint64_t bare_rr(const struct bare_conditions *conditions, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        if (write_all(own, conditions->size) != 0 || read_all(own, conditions->size) != 0)
            bare_fail("request");
    return operations;
}
