/* See serve.h. */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "commands.h"
#include "offspring.h"
#include "plan.h"
#include "requests.h"
#include "settings.h"

enum {
    PATH_BYTES = 4096,
    OPEN_DIRECTORIES = 16,
    PRIVATE = 0700,
    MS_PER_S = 1000,
    NS_PER_MS = 1000000,
    LIFE_MS = 15 * MS_PER_S, /* time between two signs of life over a serial line */
};

static char base[PATH_BYTES / 2];

/* Path of a file in our directory, valid until the next call. */
static const char *within(const char *name)
{
    static char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (long long)MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* Signs of life, which a serial line needs, and the time of the next one. */
static bool is_line;
static long long next_life_ms;

static void begin_life(void)
{
    is_line = isatty(STDIN_FILENO);
    next_life_ms = now_ms() + LIFE_MS;
}

/*
 * Over a serial line only we would notice that the system hangs, so an empty line is a sign of
 * life. From Linux 5.12 a frame is written to a terminal in one piece, so that line never divides
 * one.
 */
static void show_life(void)
{
    if (!is_line || now_ms() < next_life_ms)
        return;
    channel_break_line();
    next_life_ms = now_ms() + LIFE_MS;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    show_life(); /* a large tree takes long on a slow system */
    remove(path); /* the shell that started us retries a directory that is not empty yet */
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}

/*
 * A handler, because ignored signals stay ignored in programs. A write to a channel without a
 * reader then fails.
 */
static void note(int signal)
{
    (void)signal;
}

static void set_up_signals(sigset_t *usual)
{
    struct sigaction noted = {.sa_handler = note};
    sigaction(SIGPIPE, &noted, NULL);
    sigaction(SIGCHLD, &noted, NULL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, usual); /* it is delivered only while we wait */
}

/* Creates an executable file in `workloads`. */
static bool put(const struct request *request)
{
    if (request->rest[0] == '\0' || request->rest[0] == '.' || strchr(request->rest, '/') != NULL) {
        channel_print("failed", "not a file's name: '%s'", request->rest);
        return false;
    }
    char name[REQUEST_REST_BYTES + 16];
    snprintf(name, sizeof name, "workloads/%s", request->rest);
    int file = open(within(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE);
    size_t at = 0;
    for (ssize_t count; file >= 0 && at < request->length; at += (size_t)count) {
        count = write(file, request->bytes + at, request->length - at);
        if (count <= 0)
            break;
    }
    if (file >= 0 && close(file) == 0 && at == request->length)
        return true;
    channel_failed(within(name), errno);
    return false;
}

/* Reason for the end of waiting for a worker. */
enum waited { ENDED, TIMED_OUT, ABANDONED };

/*
 * Waits until the worker has ended, at most that long. Any input ends the wait too: the lab sends
 * the next request only after the answer.
 */
static enum waited wait_for(pid_t worker, long long limit_ms, const sigset_t *usual, int *status)
{
    begin_life();
    long long until = now_ms() + limit_ms;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        pid_t died;
        while ((died = waitpid(-1, status, WNOHANG)) > 0) /* includes adopted orphans of programs */
            if (died == worker)
                return ENDED;
        long long left = until - now_ms();
        if (left <= 0)
            return TIMED_OUT;
        if (is_line && left > LIFE_MS)
            left = LIFE_MS;
        show_life();
        struct timespec rest = {.tv_sec = left / MS_PER_S, .tv_nsec = left % MS_PER_S * NS_PER_MS};
        if (ppoll(&input, 1, &rest, usual) > 0)
            return ABANDONED;
    }
}

/*
 * Changes settings in this process, so that they are restored if the worker is killed. False after
 * a failure, which `not-started` has reported.
 */
static bool change_settings(void)
{
    size_t count;
    char **words;
    plan_rewind();
    while ((words = plan_next(&count)) != NULL)
        if (strcmp(words[0], "set") == 0 && count == 3 && !settings_change(words[1], words[2]))
            return false;
    plan_rewind();
    return true;
}

/* Executes the plan in a process of its own, with which its environment and children disappear. */
static _Noreturn void work(const sigset_t *usual)
{
    sigprocmask(SIG_SETMASK, usual, NULL);
    signal(SIGCHLD, SIG_DFL);
    if (chdir(within("scratch")) != 0)
        channel_failed("chdir", errno);
    else
        commands_obey();
    _exit(EXIT_SUCCESS);
}

/* False at the end of the input, when the agent must end. */
static bool run_plan(long long limit_ms, const sigset_t *usual)
{
    int status = 0;
    enum waited waited = ENDED;
    if (mkdir(within("scratch"), PRIVATE) != 0) {
        channel_failed(within("scratch"), errno);
        return true;
    }
    if (change_settings()) {
        pid_t worker = offspring_fork();
        if (worker == 0)
            work(usual);
        if (worker < 0)
            channel_failed("fork", errno);
        else
            waited = wait_for(worker, limit_ms, usual, &status);
    }
    bool is_alone = offspring_kill();
    settings_put_back();
    remove_tree(within("scratch"));
    if (waited == TIMED_OUT || WIFSIGNALED(status))
        channel_break_line();
    if (waited == TIMED_OUT)
        channel_print("timed-out", "%lld", limit_ms);
    if (WIFSIGNALED(status))
        channel_print("failed", "it was killed by signal %d", WTERMSIG(status));
    if (!is_alone)
        channel_print("failed", "a process could not be killed");
    return waited != ABANDONED;
}

/* False if the agent must end. */
static bool do_plan(struct request *request, const sigset_t *usual)
{
    if (!plan_take(request->bytes, request->length)) {
        channel_failed("a plan", errno);
        return false;
    }
    if (!run_plan(strtoll(request->rest, NULL, 10), usual))
        return false;
    channel_print("end", "%s", "");
    return true;
}

static bool obey(struct request *request, const sigset_t *usual)
{
    if (strcmp(request->kind, "put") == 0)
        return put(request);
    if (strcmp(request->kind, "do") == 0)
        return do_plan(request, usual);
    channel_print("failed", "the request '%s' is not known", request->kind);
    return false;
}

int serve(const char *directory)
{
    sigset_t usual;
    struct request request;
    bool fits = snprintf(base, sizeof base, "%s", directory) < (int)sizeof base;
    if (!fits || (mkdir(within("workloads"), PRIVATE) != 0 && errno != EEXIST)) {
        fprintf(stderr, "faultline: %s: %s\n", directory, strerror(errno));
        return EXIT_FAILURE;
    }
    set_up_signals(&usual);
    offspring_adopt();
    if (!channel_take_output())
        return EXIT_FAILURE;
    channel_print("directory", "%s", base);
    for (bool goes_on = true; goes_on && request_read(&request);) {
        goes_on = obey(&request, &usual);
        free(request.bytes);
    }
    remove_tree(base);
    return EXIT_SUCCESS;
}
