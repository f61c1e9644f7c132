/*
 * sleepers HOW TASKS TURNS: tasks that sleep in the kernel while they wait for each other.
 *
 * mutex      each task locks one mutex, increments a number, and unlocks the mutex
 * condition  two threads take turns, using a condition variable
 * pipe       a process answers requests of another, over two pipes
 * socket     a process answers requests of another, over a loopback connection
 */
#include "faultline_mark.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64, TASKS_MAX = 32 };

static _Alignas(LINE) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(LINE) pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static _Alignas(LINE) long count;
static pthread_barrier_t ready;
static long turns;

static void *lock(void *task)
{
    (void)task;
    pthread_barrier_wait(&ready);
    for (long turn = 0; turn < turns; turn++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *pass(void *task)
{
    long me = (long)task;
    pthread_barrier_wait(&ready);
    for (long turn = 0; turn < turns; turn++) {
        pthread_mutex_lock(&mutex);
        while (count % 2 != me)
            pthread_cond_wait(&passed, &mutex);
        count++;
        pthread_cond_signal(&passed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static int threads(int tasks, void *work(void *))
{
    pthread_t ids[TASKS_MAX];

    pthread_barrier_init(&ready, NULL, (unsigned)tasks);
    faultline_mark_begin();
    for (long task = 0; task < tasks; task++)
        if (pthread_create(&ids[task], NULL, work, (void *)task) != 0)
            return 1;
    for (int task = 0; task < tasks; task++)
        pthread_join(ids[task], NULL);
    faultline_mark_end();
    return count == tasks * turns ? 0 : 1;
}

/* Sends `turns` requests, and expects each answer to be the request plus one. */
static int ask(int from, int to)
{
    for (long turn = 0; turn < turns; turn++) {
        long word = turn;
        if (write(to, &word, sizeof word) != sizeof word || read(from, &word, sizeof word) != sizeof word ||
            word != turn + 1)
            return 1;
    }
    return 0;
}

static void answer(int from, int to)
{
    long word;

    while (read(from, &word, sizeof word) == sizeof word) {
        word++;
        if (write(to, &word, sizeof word) != sizeof word)
            return;
    }
}

static int over_pipes(void)
{
    int there[2], back[2], status;

    if (pipe(there) != 0 || pipe(back) != 0)
        return 1;
    faultline_mark_begin();
    pid_t server = fork();
    if (server == 0) {
        close(there[1]);
        answer(there[0], back[1]);
        _exit(0);
    }
    int failed = ask(back[0], there[1]);
    close(there[1]);
    waitpid(server, &status, 0);
    faultline_mark_end();
    return failed || status != 0;
}

static int over_a_socket(void)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(4711)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), status;

    if (listener < 0 || bind(listener, (struct sockaddr *)&place, sizeof place) != 0 || listen(listener, 1) != 0)
        return 1;
    faultline_mark_begin();
    pid_t server = fork();
    if (server == 0) {
        int one = accept(listener, NULL, NULL);
        answer(one, one);
        _exit(0);
    }
    int client = socket(AF_INET, SOCK_STREAM, 0);
    int failed = connect(client, (struct sockaddr *)&place, sizeof place) != 0 || ask(client, client);
    close(client);
    waitpid(server, &status, 0);
    faultline_mark_end();
    return failed || status != 0;
}

int main(int argc, char **argv)
{
    int tasks = argc == 4 ? atoi(argv[2]) : 0;

    if (tasks < 1 || tasks > TASKS_MAX)
        return 64;
    turns = atol(argv[3]);
    if (strcmp(argv[1], "mutex") == 0)
        return threads(tasks, lock);
    if (strcmp(argv[1], "condition") == 0 && tasks == 2)
        return threads(tasks, pass);
    if (strcmp(argv[1], "pipe") == 0)
        return over_pipes();
    if (strcmp(argv[1], "socket") == 0)
        return over_a_socket();
    return 64;
}
