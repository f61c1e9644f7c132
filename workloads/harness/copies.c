/* See copies.h. */
#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "lifetime.h"
#include "options.h"
#include "orphans.h"
#include "protocol.h"
#include "signals.h"

#if defined(__APPLE__)
#define MAXRSS_BYTES UINT64_C(1)
#else
#define MAXRSS_BYTES UINT64_C(1024)
#endif

enum { PATH_BYTES = 4096, STEP_BYTES = 32, WORDS_BYTES = 2000, COPIES_MAX = 1024 };

static const struct copies *copies;
static uint64_t real_ns;
static uint64_t largest_bytes;
static int ready_pipe[2]; /* each child writes a byte when it begins to wait; end of file when no child is left */
static int start_pipe[2]; /* each child reads a byte; end of file when the coordinator is dead */

struct copy {
    pid_t pid;
    int error_pipe;  /* gives a refusal if the command could not be started */
    int status_pipe; /* gives the command's status if its parent lives on; -1: the status is that of the child */
    bool ended;
};

static struct copy *all;

/* The reason why a child could not become the command. */
struct refusal {
    int error;
    char step[STEP_BYTES];
};

const char *copies_read(const char *value, unsigned *count)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || number < 1 || number > COPIES_MAX)
        return "not a whole number from 1 to 1024";
    *count = (unsigned)number;
    return NULL;
}

static void words_path(char path[PATH_BYTES], unsigned copy)
{
    snprintf(path, PATH_BYTES, "%s/copy-%u.log", lifetime_scratch(), copy);
}

/* ---- in the child ---- */

/* Returns NULL, or the step that failed. */
static const char *keep_last_words(unsigned copy)
{
    char path[PATH_BYTES];
    words_path(path, copy);
    int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0 || dup2(log, STDERR_FILENO) < 0 || (copies->keeps_output && dup2(log, STDOUT_FILENO) < 0))
        return "log";
    return NULL;
}

/* Returns when the region has begun: NULL, or the step that failed. */
static const char *wait_for_start(void)
{
    char byte = 'r';
    if (write(ready_pipe[1], &byte, 1) != 1)
        return "write";
    close(ready_pipe[1]);
    ssize_t n;
    while ((n = read(start_pipe[0], &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (n == 0)
        _exit(EXIT_SYSTEM_CALL); /* there is no process to report to */
    return n == 1 ? NULL : "read";
}

/* Tells the coordinator the step that failed, and `errno`. */
static _Noreturn void refuse(int error_pipe, const char *step)
{
    struct refusal refusal = {.error = errno};
    snprintf(refusal.step, sizeof refusal.step, "%s", step);
    if (write(error_pipe, &refusal, sizeof refusal) < 0) /* a pipe writes so few bytes atomically */
        _exit(126);
    _exit(127);
}

static _Noreturn void become_command(const struct plan *plan, unsigned copy, int error_pipe)
{
    close(ready_pipe[0]);
    close(start_pipe[1]);
    const char *step = copies->enter(plan, copy);
    if (step == NULL)
        step = keep_last_words(copy);
    if (step == NULL)
        step = wait_for_start();
    if (step == NULL) {
        execvp(copies->command[0], copies->command);
        step = "exec";
    }
    refuse(error_pipe, step);
}

/*
 * Becomes the parent of the command and of all descendants that it leaves, and lives until it is
 * killed. So the coordinator never reaps them, and they count towards no later copies.
 */
static _Noreturn void stand_between(const struct plan *plan, unsigned copy, int error_pipe, int status_pipe)
{
    orphans_adopt();
    signal(SIGCHLD, SIG_DFL); /* a caller that ignores it would take the status */
    pid_t pid = fork();
    if (pid == 0)
        become_command(plan, copy, error_pipe);
    if (pid < 0)
        refuse(error_pipe, "fork");
    close(error_pipe);
    close(ready_pipe[0]);
    close(ready_pipe[1]);
    close(start_pipe[0]);
    close(start_pipe[1]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    signal(SIGCHLD, SIG_IGN); /* the system reaps the others */
    if (write(status_pipe, &status, sizeof status) < 0) /* a pipe writes so few bytes atomically */
        _exit(126);
    for (;;)
        pause();
}

/* ---- in the coordinator ---- */

/* A successful exec closes both ends and writes nothing. */
static void make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        failure_os("pipe", errno);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

static void fork_copy(const struct plan *plan, unsigned copy)
{
    int ends[2], statuses[2] = {-1, -1};
    make_pipe(ends);
    if (copies->apart)
        make_pipe(statuses);
    all[copy].pid = lifetime_fork();
    if (all[copy].pid < 0)
        failure_os("fork", errno);
    if (all[copy].pid == 0 && copies->apart)
        stand_between(plan, copy, ends[1], statuses[1]);
    if (all[copy].pid == 0)
        become_command(plan, copy, ends[1]);
    close(ends[1]);
    all[copy].error_pipe = ends[0];
    all[copy].status_pipe = statuses[0];
    if (copies->apart) {
        close(statuses[1]);
        fcntl(statuses[0], F_SETFL, O_NONBLOCK);
    }
}

/* A child that fails before this point closes its end, and is found dead in the region. */
static void wait_until_ready(void)
{
    fcntl(ready_pipe[0], F_SETFL, O_NONBLOCK);
    unsigned ready = 0;
    while (ready < copies->count) {
        char byte;
        ssize_t n = read(ready_pipe[0], &byte, 1);
        if (n == 0)
            break;
        if (n > 0)
            ready++;
        else
            signals_wait(clock_now_ns() + NS_PER_S / 10, ready_pipe[0]);
    }
    close(ready_pipe[0]);
}

void copies_prepare(const struct plan *plan, const struct copies *wanted)
{
    copies = wanted;
    largest_bytes = 0;
    free(all);
    all = calloc(copies->count, sizeof *all);
    if (all == NULL)
        failure_os("calloc", errno);
    make_pipe(ready_pipe);
    make_pipe(start_pipe);
    for (unsigned copy = 0; copy < copies->count; copy++)
        fork_copy(plan, copy);
    close(ready_pipe[1]);
    wait_until_ready();
}

/* One byte for each child; a pipe writes so few bytes atomically. */
static void let_go(void)
{
    static const char bytes[TASKS_MAX];
    if (write(start_pipe[1], bytes, copies->count) != (ssize_t)copies->count)
        failure_os("write", errno);
    close(start_pipe[0]);
    close(start_pipe[1]);
}

/* Shows the last lines of a copy's output. Returns the last one, empty if there is none. */
static const char *show_last_words(unsigned copy)
{
    static char words[WORDS_BYTES + 1];
    char path[PATH_BYTES];
    words_path(path, copy);
    int log = open(path, O_RDONLY | O_CLOEXEC);
    if (log < 0)
        return "";
    off_t end = lseek(log, 0, SEEK_END);
    ssize_t n = pread(log, words, WORDS_BYTES, end > WORDS_BYTES ? end - WORDS_BYTES : 0);
    close(log);
    if (n <= 0)
        return "";
    fwrite(words, 1, (size_t)n, stderr);
    while (n > 0 && (words[n - 1] == '\n' || words[n - 1] == '\0'))
        n--;
    words[n] = '\0';
    const char *last_end = strrchr(words, '\n');
    return last_end != NULL ? last_end + 1 : words;
}

static _Noreturn void fail(const char *command, unsigned copy, int status)
{
    const char *words = show_last_words(copy);
    const char *colon = words[0] != '\0' ? ": " : "";
    const char *step = copies->step != NULL ? copies->step : "command";
    if (WIFSIGNALED(status))
        failure_os_text(step, ECHILD, "%s was ended by signal %d%s%s", command, WTERMSIG(status), colon, words);
    failure_os_text(step, WEXITSTATUS(status), "%s ended with status %d%s%s", command, WEXITSTATUS(status), colon, words);
}

static void check(const struct copy *ended, unsigned copy, int status)
{
    struct refusal refusal;
    ssize_t n = read(ended->error_pipe, &refusal, sizeof refusal);
    close(ended->error_pipe);
    if (n == (ssize_t)sizeof refusal && strcmp(refusal.step, "exec") == 0)
        failure_os_text(copies->step != NULL ? copies->step : "exec", refusal.error, "cannot start %s: %s", copies->command[0], strerror(refusal.error));
    if (n == (ssize_t)sizeof refusal)
        failure_os(refusal.step, refusal.error);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(copies->command[0], copy, status);
    if (copies->check != NULL)
        copies->check(copy);
}

static void end_copy(unsigned copy, int status)
{
    all[copy].ended = true;
    check(&all[copy], copy, status);
    if (all[copy].status_pipe >= 0)
        close(all[copy].status_pipe);
}

/*
 * Reaps all children that have ended, including adopted ones. Returns the number of copies that
 * have ended.
 */
static unsigned reap(void)
{
    unsigned ended = 0;
    for (unsigned copy = 0; copy < copies->count; copy++) {
        int status;
        if (all[copy].ended || all[copy].status_pipe < 0 || read(all[copy].status_pipe, &status, sizeof status) != (ssize_t)sizeof status)
            continue;
        ended++;
        end_copy(copy, status);
    }
    pid_t pid;
    int status;
    struct rusage resources;
    while ((pid = wait4(-1, &status, WNOHANG, &resources)) > 0) {
        uint64_t bytes = (uint64_t)resources.ru_maxrss * MAXRSS_BYTES;
        largest_bytes = bytes > largest_bytes ? bytes : largest_bytes;
        for (unsigned copy = 0; copy < copies->count; copy++) {
            if (all[copy].ended || all[copy].pid != pid)
                continue;
            ended++;
            end_copy(copy, status);
        }
    }
    return ended;
}

void copies_run(void)
{
    uint64_t begin_ns = clock_now_ns();
    let_go();
    for (unsigned ended = reap(); ended < copies->count; ended += reap())
        signals_wait(clock_now_ns() + NS_PER_S, all[0].status_pipe); /* SIGCHLD ends the wait at once */
    real_ns = clock_now_ns() - begin_ns;
}

uint64_t copies_largest_bytes(void)
{
    return largest_bytes;
}

void copies_print_times(const struct region *region)
{
    protocol_line("measure real_s s lower %.6f", (double)real_ns / (double)NS_PER_S);
    protocol_line("measure user_s s lower %.6f", (double)region->usage.user_ns / (double)NS_PER_S);
    protocol_line("measure system_s s lower %.6f", (double)region->usage.system_ns / (double)NS_PER_S);
}
