/* See lifetime.h. */
#include "lifetime.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#elif defined(__FreeBSD__) || defined(__DragonFly__)
#include <sys/procctl.h>
#endif

#include "clock.h"
#include "failure.h"
#include "interrupts.h"

enum { OPEN_DIRECTORIES = 32 };

#define REAP_LIMIT_NS (10 * NS_PER_S)

static char *scratch;
static pid_t guard;
static int guard_pipe = -1;

static void sleep_ms(long ms)
{
    struct timespec rest = {.tv_nsec = ms * 1000000L};
    nanosleep(&rest, NULL);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)kind;
    (void)position;
    remove(path); /* a failure shows when its directory can't be removed */
    return 0;
}

static bool remove_scratch(void)
{
    return nftw(scratch, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS) == 0 ? access(scratch, F_OK) != 0
                                                                                      : errno == ENOENT;
}

void lifetime_make_scratch(const char *parent, const char *name)
{
    char *absolute = realpath(parent, NULL);
    if (absolute == NULL)
        failure_os("scratch", errno);
    size_t bytes = strlen(absolute) + strlen(name) + sizeof "/faultline--XXXXXX";
    char *path = malloc(bytes);
    if (path == NULL)
        failure_os("scratch", errno);
    snprintf(path, bytes, "%s/faultline-%s-XXXXXX", absolute, name);
    free(absolute);
    if (mkdtemp(path) == NULL)
        failure_os("scratch", errno);
    scratch = path;
}

const char *lifetime_scratch(void)
{
    return scratch;
}

/* Standard streams up to `last` become /dev/null, so that a reader of ours sees their end when we end. */
static void detach_streams(int last)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        return;
    for (int stream = STDIN_FILENO; stream <= last; stream++)
        if (stream != null)
            dup2(null, stream);
    if (null > STDERR_FILENO)
        close(null);
}

static _Noreturn void guard_main(int pipe_end)
{
    /* All signals stay blocked: the guard ends only by its own SIGKILL to the group, or the coordinator's. */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    detach_streams(STDERR_FILENO);

    char byte;
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        continue;
    /* The coordinator is dead. Tasks die of SIGTERM at once and stop writing; what refuses dies of the last line. */
    kill(0, SIGTERM);
    for (int attempt = 0; scratch != NULL && attempt < 20; attempt++) {
        sleep_ms(20);
        if (remove_scratch())
            break;
    }
    kill(0, SIGKILL);
    _exit(EXIT_SYSTEM_CALL); /* not reached */
}

void lifetime_start_guard(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        failure_os("pipe", errno);
    /* Programs that tasks start must not hold the coordinator's end; tasks close it in lifetime_fork(). */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid < 0)
        failure_os("fork", errno);
    if (pid == 0) {
        close(ends[1]);
        guard_main(ends[0]);
    }
    close(ends[0]);
    setpgid(pid, pid); /* here too: whichever runs first makes the group before any task joins it */
    guard = pid;
    guard_pipe = ends[1];
}

/* Asks the kernel to kill this process with its parent, closing the gap in which the parent has died already. */
static void die_with(pid_t parent)
{
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#elif defined(PROC_PDEATHSIG_CTL)
    int signal_number = SIGKILL;
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal_number);
#endif
    if (getppid() != parent)
        _exit(EXIT_SYSTEM_CALL);
}

pid_t lifetime_fork(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(guard_pipe);
        setpgid(0, guard);
        die_with(parent);
        detach_streams(STDOUT_FILENO);
        interrupts_restore();
    } else if (pid > 0) {
        setpgid(pid, guard);
    }
    return pid;
}

void lifetime_end(void)
{
    if (guard > 0) {
        /* The guard leads the group of all children and their children, and dies with them. */
        kill(-guard, SIGKILL);
        guard = 0;
        uint64_t deadline_ns = clock_now_ns() + REAP_LIMIT_NS;
        for (;;) {
            pid_t pid = waitpid(-1, NULL, WNOHANG);
            if ((pid < 0 && errno != EINTR) || clock_now_ns() > deadline_ns)
                break;
            if (pid == 0)
                sleep_ms(1);
        }
    }
    if (scratch != NULL) {
        if (!remove_scratch())
            fprintf(stderr, "cannot remove %s: %s\n", scratch, strerror(errno));
        free(scratch);
        scratch = NULL;
    }
}

void lifetime_exit(int status)
{
    lifetime_end();
    exit(status);
}
