/*
 * requests own|one THREADS TURNS: half of the threads belong to memcached. Each of the others sends
 * it twice TURNS requests over its own connection, for its own value (own) or a common one (one).
 * Server and clients get separate, equally large sets of CPUs, so that every request crosses CPUs.
 * Otherwise the scheduler would sometimes put both on one CPU, depending on when they sleep.
 */
#define _GNU_SOURCE
#include "crew.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PORT 11211
#define VALUE_BYTES 64
#define SERVER "/usr/bin/memcached"

static long turns;
static int sockets[MOST_TASKS];
static char requests[MOST_TASKS][256];

static _Noreturn void failed(const char *step)
{
    perror(step);
    exit(1);
}

static int connection(void)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int on = 1, handle = socket(AF_INET, SOCK_STREAM, 0);

    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (handle < 0)
        failed("socket");
    if (connect(handle, (struct sockaddr *)&server, sizeof server) != 0) {
        close(handle);
        return -1;
    }
    setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return handle;
}

/* Sends a request, and receives the whole answer. */
static void ask(int handle, const char *request, const char *end)
{
    char answer[1024];
    size_t length = strlen(request), got = 0, tail = strlen(end);

    if (write(handle, request, length) != (ssize_t)length)
        failed("write");
    while (got < tail || memcmp(answer + got - tail, end, tail) != 0) {
        ssize_t more = read(handle, answer + got, sizeof answer - got);
        if (more <= 0)
            failed("read");
        got += (size_t)more;
    }
}

static void work(int task)
{
    for (long turn = 0; turn < turns; turn++)
        ask(sockets[task], requests[task], "END\r\n");
}

/* Restricts this process to `count` CPUs, starting at `first`. */
static void confine(int first, int count)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (int cpu = first; cpu < first + count; cpu++)
        CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        failed("sched_setaffinity");
}

static pid_t server(int tasks)
{
    pid_t process = fork();

    if (process == 0) {
        char threads[16];
        confine(tasks, tasks);
        snprintf(threads, sizeof threads, "%d", tasks);
        execl(SERVER, SERVER, "-u", "root", "-l", "127.0.0.1", "-t", threads, (char *)NULL);
        failed(SERVER);
    }
    return process;
}

int main(int argc, char **argv)
{
    int tasks = argc == 4 ? atoi(argv[2]) / 2 : 0;

    if (tasks < 1 || tasks > MOST_TASKS)
        return 64;
    turns = 2 * atol(argv[3]);
    int is_one = strcmp(argv[1], "one") == 0;
    pid_t process = server(tasks);
    confine(0, tasks);
    for (int task = 0; task < tasks; task++) {
        int key = is_one ? 0 : task;
        char store[256];
        while ((sockets[task] = connection()) < 0)
            usleep(1000);
        snprintf(store, sizeof store, "set key-%d 0 0 %d\r\n%0*d\r\n", key, VALUE_BYTES, VALUE_BYTES, 7);
        ask(sockets[task], store, "STORED\r\n");
        snprintf(requests[task], sizeof requests[task], "get key-%d\r\n", key);
    }
    int status = crew_run(tasks);
    kill(process, SIGTERM);
    waitpid(process, NULL, 0);
    return status;
}
