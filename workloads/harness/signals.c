/* See signals.h. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/select.h>
#include <time.h>

#include "clock.h"
#include "ending.h"

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

static sigset_t original_mask;
static sigset_t waiting_mask;
static struct sigaction original_ending[ENDING_SIGNALS];
static struct sigaction original_pipe;
static volatile sig_atomic_t ending_signal;
static volatile sig_atomic_t child_ended;

static void note_ending(int signal_number)
{
    ending_signal = signal_number;
}

static void note_child(int signal_number)
{
    (void)signal_number;
    child_ended = 1;
}

void signals_block(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&blocked, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, &original_mask);

    waiting_mask = original_mask;
    sigdelset(&waiting_mask, SIGCHLD);
    struct sigaction action = {.sa_handler = note_ending};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        sigdelset(&waiting_mask, ending_signals[i]);
        sigaction(ending_signals[i], NULL, &original_ending[i]);
        /*
         * The signal was ignored when the program started (nohup, a shell's background job): leave
         * it ignored.
         */
        if (original_ending[i].sa_handler != SIG_IGN)
            sigaction(ending_signals[i], &action, NULL);
    }
    action.sa_handler = note_child;
    sigaction(SIGCHLD, &action, NULL);
    /*
     * If the reader has gone, write fails with EPIPE, and we clean up. The signal would kill us
     * before that.
     */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &original_pipe);
}

void signals_restore(void)
{
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &original_ending[i], NULL);
    sigaction(SIGPIPE, &original_pipe, NULL);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &original_mask, NULL);
}

static _Noreturn void die_of(int signal_number)
{
    ending_clear_away();
    signal(signal_number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal_number);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    ending_exit(128 + signal_number); /* not reached: by default these signals end the process */
}

void signals_wait(uint64_t deadline_ns, int fd)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t rest_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec rest = {.tv_sec = (time_t)(rest_ns / NS_PER_S), .tv_nsec = (long)(rest_ns % NS_PER_S)};
    if (fd >= (int)FD_SETSIZE)
        fd = -1; /* select cannot watch it: the caller checks when the time is up */
    fd_set readable;
    FD_ZERO(&readable);
    if (fd >= 0)
        FD_SET(fd, &readable);
    /*
     * pselect sets the mask and sleeps in one step, in the same way on every system. The caller
     * passes an absolute deadline, so lateness does not accumulate. The reason for its return does
     * not matter: callers check for themselves.
     */
    pselect(fd + 1, fd >= 0 ? &readable : NULL, NULL, NULL, &rest, &waiting_mask);
    if (ending_signal != 0)
        die_of(ending_signal);
}

bool signals_child_ended(void)
{
    /* No signal arrives in between: SIGCHLD is blocked outside of waits. */
    bool ended = child_ended != 0;
    child_ended = 0;
    return ended;
}
