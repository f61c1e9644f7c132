/* See tasks.h. */
#include "tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "lifetime.h"
#include "pin.h"
#include "signals.h"
#include "task.h"

#define SETUP_LIMIT_NS (120 * NS_PER_S)
/* A task frees at its end what its set-up allocated. */
#define STOP_LIMIT_NS SETUP_LIMIT_NS
#define FINISH_LIMIT_NS (3600 * NS_PER_S)
#define WATCH_NS (100 * NS_PER_MS)

/* A child process that hosts one task, or all of them in thread mode; or one peer. */
struct host {
    pid_t pid;
    bool reaped;
};

static const struct plan *plan;
static struct control *control;
static struct host *hosts;
static unsigned host_count;
static unsigned reaped_count;
static struct usage reaped_usage;  /* whole lives of the reaped hosts */
static struct host *peers;         /* peer i is at the other end of task i */
static unsigned peer_count;
static struct task_pipes pipes;

static bool has_peers(void)
{
    const struct workload *workload = plan->workload;
    if (plan->role != NULL)
        return workload->peer != NULL && strcmp(plan->role, ROLE_RECEIVER) == 0;
    return workload->peer != NULL && plan->receiver == NULL && !workload->needs_no_peer_here;
}

/* Each task has a slot, and after all of them each peer. */
static unsigned slot_count(void)
{
    return has_peers() ? 2 * plan->tasks : plan->tasks;
}

static void make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        failure_os("pipe", errno);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

static bool recorded_failure(unsigned index)
{
    /* Acquire, paired with the release in task_fail_text() (task.c). */
    return atomic_load_explicit(&control->slot[index].failure.recorded, memory_order_acquire);
}

/* Reports the first failure recorded by a task, if any. */
static void hand_on_failures(void)
{
    for (unsigned i = 0; i < slot_count(); i++) {
        if (!recorded_failure(i))
            continue;
        const struct task_failure *failure = &control->slot[i].failure;
        failure_os_text(failure->step, failure->error, "%s", failure->text);
    }
}

static _Noreturn void fail_by_status(unsigned index, int status)
{
    hand_on_failures();
    if (WIFSIGNALED(status))
        failure_os_text("task", ECHILD, "%s %u was ended by signal %d (%s)",
                        plan->mode == MODE_THREAD ? "the process of all tasks, from task" : "task", index, WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    if (plan->workload->become_errno != NULL) {
        int error = plan->workload->become_errno(index);
        if (error != 0)
            failure_os("exec", error);
    }
    failure_os_text("task", ECHILD, "task %u ended early with status %d", index, WEXITSTATUS(status));
}

/* A host has ended. See reap(). */
static void note_end(unsigned index, int status, const struct rusage *resources, bool ends_expected)
{
    hosts[index].reaped = true;
    reaped_count++;
    reaped_usage = usage_sum(reaped_usage, usage_from(resources));
    bool became = plan->workload->become != NULL;
    bool killed_by_us = ends_expected && became && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool may_end = ends_expected || (became && plan->operations > 0);
    if (!killed_by_us && !(ended_well && may_end))
        fail_by_status(index, status);
}

/* A peer has ended. Only tasks_stop() ends peers, and it reaps them itself. */
static _Noreturn void fail_by_peer(unsigned index, int status)
{
    hand_on_failures();
    if (WIFSIGNALED(status))
        failure_os_text("peer", ECHILD, "the peer of task %u was ended by signal %d (%s)", index, WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    failure_os_text("peer", ECHILD, "the peer of task %u ended early with status %d", index, WEXITSTATUS(status));
}

/*
 * Reaps the children that have ended, including adopted ones. Before the tasks are stopped, the end
 * of a host is a failure. The exception is a task that has become another program and exits with 0
 * after a fixed number of operations.
 *
 * Asks the kernel only if a signal reported an end during the last wait, and then not once per
 * host: this runs after each report of a task, within the region of interest, so the work would
 * otherwise grow with the square of the number of tasks.
 */
static void reap(bool ends_expected)
{
    if (!signals_child_ended())
        return;
    pid_t pid;
    int status;
    struct rusage resources;
    while ((pid = wait4(-1, &status, WNOHANG, &resources)) > 0) {
        for (unsigned i = 0; i < host_count; i++) {
            if (hosts[i].pid == pid && !hosts[i].reaped)
                note_end(i, status, &resources, ends_expected);
        }
        for (unsigned i = 0; i < peer_count; i++)
            if (peers[i].pid == pid)
                fail_by_peer(i, status);
    }
}

/* Waits for one byte from each task. If `ends_count` is set, the end of a task counts instead. */
static void wait_for_reports(const char *step, uint64_t limit_ns, bool ends_count)
{
    uint64_t deadline_ns = clock_now_ns() + limit_ns;
    unsigned reports = 0;
    int watched = pipes.report[0];
    while (reports + (ends_count ? reaped_count : 0) < plan->tasks) {
        if (clock_now_ns() >= deadline_ns)
            failure_os_text(step, ETIMEDOUT, "%u of %u tasks have not finished after %" PRIu64 " s", plan->tasks - reports,
                            plan->tasks, limit_ns / NS_PER_S);
        signals_wait(clock_now_ns() + WATCH_NS, watched);
        char bytes[256];
        ssize_t n = read(pipes.report[0], bytes, sizeof bytes);
        if (n > 0)
            reports += (unsigned)n;
        else if (n == 0)
            watched = -1; /* all tasks have become other programs, and an end of file would wake us again and again */
        reap(false);
    }
}

/*
 * Confines the coordinator to the CPUs where the next child will run. If a child moved only after
 * the fork, its new address space would be marked as in use on the CPU where it was created, and
 * its first TLB flushes would be sent there too.
 */
static void pin_for_child(const unsigned *cpus, size_t count)
{
    if (plan->pin_count == 0)
        return;
    int error = pin_self(cpus, count);
    if (error != 0)
        failure_os("pin", error);
}

static pid_t fork_child(void)
{
    pid_t pid = lifetime_fork();
    if (pid < 0)
        failure_os("fork", errno);
    return pid;
}

static const unsigned *own_cpu(unsigned index)
{
    return plan->pin_count > 0 ? &plan->pin[index % plan->pin_count] : NULL;
}

static void start_hosts(unsigned wanted)
{
    for (; host_count < wanted; host_count++) {
        if (plan->mode == MODE_THREAD)
            pin_for_child(plan->pin, plan->tasks < plan->pin_count ? plan->tasks : plan->pin_count);
        else
            pin_for_child(own_cpu(host_count), 1);
        pid_t pid = fork_child();
        if (pid == 0)
            task_host_main(host_count);
        hosts[host_count].pid = pid;
    }
}

/* Starts the peers, and waits until all have set up. */
static void start_peers(void)
{
    if (!has_peers())
        return;
    for (; peer_count < plan->tasks; peer_count++) {
        pin_for_child(own_cpu(peer_count), 1);
        pid_t pid = fork_child();
        if (pid == 0)
            task_peer_main(peer_count);
        peers[peer_count].pid = pid;
    }
    wait_for_reports("setup", SETUP_LIMIT_NS, false);
}

static void start_children(unsigned wanted)
{
    start_peers();
    start_hosts(wanted);
}

/* Starts peers and tasks, and restores the coordinator's own CPUs. */
static void start_pinned_children(unsigned wanted)
{
    unsigned *allowed;
    size_t allowed_count;
    int error = pin_allowed(&allowed, &allowed_count);
    if (error != 0)
        failure_os("pin", error);
    start_children(wanted);
    error = pin_self(allowed, allowed_count);
    if (error != 0)
        failure_os("pin", error);
    free(allowed);
}

void tasks_start(const struct plan *new_plan)
{
    plan = new_plan;
    size_t bytes = sizeof *control + slot_count() * sizeof control->slot[0];
    control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (control == MAP_FAILED)
        failure_os("mmap", errno);
    make_pipe(pipes.report);
    make_pipe(pipes.barrier);
    make_pipe(pipes.leave);
    task_prepare(plan, control, bytes, &pipes);
    fcntl(pipes.report[0], F_SETFL, O_NONBLOCK);

    bool is_partner = plan->role != NULL;
    unsigned wanted = is_partner ? 0 : plan->mode == MODE_THREAD ? 1 : plan->tasks;
    hosts = calloc(plan->tasks, sizeof *hosts);
    peers = calloc(plan->tasks, sizeof *peers);
    if (hosts == NULL || peers == NULL)
        failure_os("calloc", errno);
    if (plan->pin_count > 0)
        start_pinned_children(wanted);
    else
        start_children(wanted);
    close(pipes.report[1]);
    close(pipes.barrier[0]);
    close(pipes.leave[0]);
    if (!is_partner)
        wait_for_reports("setup", SETUP_LIMIT_NS, false);
}

void tasks_enter(enum phase phase)
{
    /*
     * Relaxed: see current_phase() in task.c. The store becomes visible in finite time, and nothing
     * more is needed.
     */
    atomic_store_explicit(&control->phase, (int)phase, memory_order_relaxed);
}

void tasks_release(enum phase phase)
{
    tasks_enter(phase); /* before the barrier opens: the pipe's end of file orders it before each task's first look */
    close(pipes.barrier[1]);
}

void tasks_operations(uint64_t *operations)
{
    for (unsigned i = 0; i < plan->tasks; i++)
        operations[i] = plan->workload->progress != NULL
                            ? plan->workload->progress(i)
                            /* Relaxed: see publish() in task.c. */
                            : atomic_load_explicit(&control->slot[i].operations, memory_order_relaxed);
}

bool tasks_peers_cpu_ns(uint64_t *cpu_ns)
{
    *cpu_ns = 0;
    for (unsigned i = 0; i < peer_count; i++) {
        clockid_t clock;
        struct timespec used;
        if (clock_getcpuclockid(peers[i].pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
            return false;
        *cpu_ns += (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
    }
    return peer_count > 0;
}

void tasks_watch(int readable)
{
    for (;;) {
        struct pollfd look = {.fd = readable, .events = POLLIN};
        if (readable >= 0 && poll(&look, 1, 0) > 0)
            return;
        signals_wait(clock_now_ns() + WATCH_NS, readable);
        reap(false);
    }
}

void tasks_wait_until(uint64_t deadline_ns)
{
    do {
        signals_wait(deadline_ns, -1);
        reap(false);
    } while (clock_now_ns() < deadline_ns);
}

void tasks_wait_finished(void)
{
    wait_for_reports("finish", FINISH_LIMIT_NS, plan->workload->become != NULL);
}

/* Their tasks have ended, so a peer that has ended by itself meanwhile is not a failure. */
static void end_peers(void)
{
    for (unsigned i = 0; i < peer_count; i++)
        kill(peers[i].pid, SIGKILL);
    for (unsigned i = 0; i < peer_count; i++)
        while (waitpid(peers[i].pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    peer_count = 0;
}

void tasks_stop(void)
{
    tasks_enter(PHASE_STOP);
    close(pipes.leave[1]);
    if (plan->workload->become != NULL)
        for (unsigned i = 0; i < host_count; i++)
            if (!hosts[i].reaped)
                kill(hosts[i].pid, SIGKILL);
    uint64_t deadline_ns = clock_now_ns() + STOP_LIMIT_NS;
    while (reaped_count < host_count) {
        if (clock_now_ns() >= deadline_ns)
            failure_os_text("stop", ETIMEDOUT, "a task did not stop within %" PRIu64 " s", STOP_LIMIT_NS / NS_PER_S);
        signals_wait(clock_now_ns() + WATCH_NS, -1);
        reap(true);
    }
    end_peers();
}

bool tasks_usage(struct usage *usage, uint64_t *operations)
{
    *usage = (struct usage){0};
    *operations = 0;
    for (unsigned i = 0; i < plan->tasks; i++) {
        const struct task_slot *slot = &control->slot[i];
        if (!slot->snapshots_taken) {
            *usage = reaped_usage;
            *operations = 0;
            return false;
        }
        *usage = usage_sum(*usage, usage_difference(slot->at_end.usage, slot->at_begin.usage));
        *operations += slot->at_end.operations - slot->at_begin.operations;
    }
    return true;
}
