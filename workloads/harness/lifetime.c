/* See lifetime.h. */
#include "lifetime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#elif defined(__FreeBSD__) || defined(__DragonFly__)
#include <sys/procctl.h>
#endif

#include "ending.h"
#include "failure.h"
#include "orphans.h"
#include "signals.h"

static pid_t guard;
static int guard_pipe = -1;

/* The template for mkdtemp(). */
static char *scratch_template(const char *parent, const char *name)
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
    return path;
}

const char *lifetime_scratch(void)
{
    return ending_scratch();
}

/*
 * Redirects standard streams up to `last` to /dev/null, so that a reader of our output sees its end
 * when we end.
 */
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

/*
 * In the guard. Answers with the path, which is as long as its template, and an error number, 0 for
 * none.
 */
static void make_scratch(char *path, int answer)
{
    size_t bytes = strlen(path);
    int error = mkdtemp(path) == NULL ? errno : 0;
    if (error == 0)
        ending_owns_scratch(path);
    if (write(answer, path, bytes) < 0 || write(answer, &error, sizeof error) < 0)
        return; /* the coordinator is dead; the guard notices next */
}

static bool read_all(int from, void *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(from, (char *)into + done, bytes - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* `path`: the scratch directory's template, NULL for none. */
static _Noreturn void guard_main(int pipe_end, char *path, int answer)
{
    /*
     * All signals stay blocked. Only SIGKILL ends the guard, sent to its group by its remover or by
     * the coordinator.
     */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    detach_streams(STDERR_FILENO);
    if (path != NULL)
        make_scratch(path, answer);
    close(answer);

    char byte;
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        continue;
    /*
     * The coordinator is dead. Processes that still write to scratch would undo its removal, so a
     * child outside the group kills them all first.
     */
    pid_t group = getpid();
    pid_t remover = fork();
    if (remover == 0) {
        setpgid(0, 0);
        kill(-group, SIGKILL);
        ending_remove_scratch_soon();
        _exit(0);
    }
    if (remover > 0)
        waitpid(remover, NULL, 0); /* the remover kills us meanwhile */
    kill(0, SIGTERM);              /* fork failed: most processes die of this and stop writing */
    ending_remove_scratch_soon();
    kill(0, SIGKILL);
    _exit(EXIT_SYSTEM_CALL); /* not reached */
}

void lifetime_start_guard(const char *scratch_parent, const char *name)
{
    char *path = scratch_parent == NULL ? NULL : scratch_template(scratch_parent, name);
    orphans_adopt();
    int ends[2], answers[2];
    if (pipe(ends) != 0 || pipe(answers) != 0)
        failure_os("pipe", errno);
    /*
     * Programs started by tasks must not hold the coordinator's end; tasks close it in
     * lifetime_fork().
     */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid < 0)
        failure_os("fork", errno);
    if (pid == 0) {
        close(ends[1]);
        close(answers[0]);
        guard_main(ends[0], path, answers[1]);
    }
    close(ends[0]);
    close(answers[1]);
    setpgid(pid, pid); /* here too: whichever process runs first creates the group, before any task joins it */
    guard = pid;
    ending_owns_group(guard);
    guard_pipe = ends[1];

    /* The guard creates the directory, so that it is never left behind if we die. */
    int error = 0;
    if (path != NULL && !(read_all(answers[0], path, strlen(path)) && read_all(answers[0], &error, sizeof error)))
        error = ESRCH; /* the guard has been killed */
    close(answers[0]);
    if (error != 0)
        failure_os("scratch", error);
    if (path != NULL)
        ending_owns_scratch(path);
}

/*
 * Asks the kernel to kill this process when its parent dies. Also handles a parent that has died
 * already.
 */
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
        ending_is_the_parents();
        if (setpgid(0, guard) != 0)
            _exit(EXIT_SYSTEM_CALL); /* the guard has been killed, so no process would kill us */
        die_with(parent);
        detach_streams(STDOUT_FILENO);
        signals_restore();
    } else if (pid > 0) {
        setpgid(pid, guard); /* fails if the child has already done it and called exec */
    }
    return pid;
}
