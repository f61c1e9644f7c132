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
#include "orphans.h"

enum { OPEN_DIRECTORIES = 32, REMOVAL_PASSES = 16, REMOVALS_BY_GUARD = 20, WAITS_FOR_GROUP = 10 };

#define REAP_LIMIT_NS (10 * NS_PER_S)

static char *scratch;
static pid_t guard;
static int guard_pipe = -1;
static int spare = -1; /* a descriptor to give up when a directory must be opened and there is no other */

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

static int open_to_ourselves(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)position;
    if (kind == FTW_D || kind == FTW_DNR)
        chmod(path, 0700); /* a failure shows when it can't be removed */
    return 0;
}

static void walk_scratch(int (*visit)(const char *, const struct stat *, int, struct FTW *), int flags)
{
    if (nftw(scratch, visit, OPEN_DIRECTORIES, flags | FTW_PHYS) != 0 && (errno == EMFILE || errno == ENFILE))
        nftw(scratch, visit, 1, flags | FTW_PHYS);
}

static bool remove_scratch(void)
{
    if (spare >= 0)
        close(spare);
    spare = -1;
    walk_scratch(remove_entry, FTW_DEPTH);
    /* What a build made read-only refuses to lose entries. Each pass opens one more level that could not be read at all. */
    for (int pass = 0; pass < REMOVAL_PASSES && access(scratch, F_OK) == 0; pass++) {
        walk_scratch(open_to_ourselves, 0);
        walk_scratch(remove_entry, FTW_DEPTH);
    }
    return access(scratch, F_OK) != 0;
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
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
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

static void remove_scratch_soon(void)
{
    for (int attempt = 0; scratch != NULL && attempt < REMOVALS_BY_GUARD && !remove_scratch(); attempt++)
        sleep_ms(20); /* the killed take a moment to die */
}

static _Noreturn void guard_main(int pipe_end)
{
    /* All signals stay blocked: the guard ends only by a SIGKILL to the group, its remover's or the coordinator's. */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    detach_streams(STDERR_FILENO);

    char byte;
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        continue;
    /* The coordinator is dead. What still wrote to scratch would undo its removal: a child outside the group kills all first. */
    pid_t group = getpid();
    pid_t remover = fork();
    if (remover == 0) {
        setpgid(0, 0);
        kill(-group, SIGKILL);
        remove_scratch_soon();
        _exit(0);
    }
    if (remover > 0)
        waitpid(remover, NULL, 0); /* killed meanwhile */
    kill(0, SIGTERM);              /* no child could be had: most die of this and stop writing */
    remove_scratch_soon();
    kill(0, SIGKILL);
    _exit(EXIT_SYSTEM_CALL); /* not reached */
}

void lifetime_start_guard(void)
{
    orphans_adopt();
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
        if (spare >= 0)
            close(spare);
        if (setpgid(0, guard) != 0)
            _exit(EXIT_SYSTEM_CALL); /* the guard has been killed: nothing would end us */
        die_with(parent);
        detach_streams(STDOUT_FILENO);
        interrupts_restore();
    } else if (pid > 0) {
        setpgid(pid, guard); /* fails when the child has done it and gone on to exec; the child makes sure */
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
        unsigned waits = 0;
        for (;;) {
            pid_t pid = waitpid(-1, NULL, WNOHANG);
            if ((pid < 0 && errno != EINTR) || clock_now_ns() > deadline_ns)
                break;
            if (pid != 0)
                continue;
            sleep_ms(1);
            if (++waits > WAITS_FOR_GROUP) /* what is still there has left the group */
                orphans_kill();
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
