/* See task.h. */
#include "task.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failure.h"
#include "pin.h"

static const struct plan *plan;
static struct control *control;
static size_t control_bytes;
static const struct task_pipes *pipes;

void task_prepare(const struct plan *new_plan, struct control *new_control, size_t new_control_bytes,
                  const struct task_pipes *new_pipes)
{
    plan = new_plan;
    control = new_control;
    control_bytes = new_control_bytes;
    pipes = new_pipes;
}

void task_fail_text(struct task *task, const char *step, int error, const char *format, ...)
{
    struct task_failure *failure = &task->slot->failure;
    failure->error = error;
    snprintf(failure->step, sizeof failure->step, "%s", step);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    /*
     * Release, paired with the acquire in recorded_failure() (tasks.c): a sibling thread may end
     * the process while this one is still writing, so the process's death alone does not prove that
     * the record is complete.
     */
    atomic_store_explicit(&failure->recorded, true, memory_order_release);
    _exit(EXIT_SYSTEM_CALL);
}

void task_fail(struct task *task, const char *step, int error)
{
    task_fail_text(task, step, error, "%s", strerror(error));
}

static void report(struct task *task)
{
    if (write(pipes->report[1], "r", 1) != 1)
        task_fail(task, "write", errno);
}

static void wait_for_end_of_file(struct task *task, int pipe_end)
{
    char byte;
    ssize_t n;
    while ((n = read(pipe_end, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (n < 0)
        task_fail(task, "read", errno);
}

/*
 * Usage of this task alone, if the system provides it. Otherwise task 0 reports that of the whole
 * process.
 */
static struct usage own_usage(const struct task *task)
{
    if (plan->mode == MODE_PROCESS)
        return usage_sum(usage_of(RUSAGE_SELF), usage_of(RUSAGE_CHILDREN));
#if defined(RUSAGE_THREAD)
    (void)task;
    return usage_of(RUSAGE_THREAD);
#else
    return task->index == 0 ? usage_of(RUSAGE_SELF) : (struct usage){0};
#endif
}

static struct task_snapshot snapshot(const struct task *task, uint64_t operations)
{
    return (struct task_snapshot){.usage = own_usage(task), .operations = operations};
}

/*
 * Single writer, so a plain load of the last value and a store are enough: no read-modify-write on
 * the line.
 */
static void publish(struct task *task, uint64_t operations)
{
    /*
     * Relaxed: the coordinator needs only the number; it orders no other memory. What the
     * coordinator reads after the end (snapshots, failures) is ordered by the task's death and
     * waitpid.
     */
    atomic_store_explicit(&task->slot->operations, operations, memory_order_relaxed);
}

static enum phase current_phase(void)
{
    /*
     * Relaxed: the phase only says when; it publishes no data. Pairs with the store in
     * tasks_enter().
     */
    return (enum phase)atomic_load_explicit(&control->phase, memory_order_relaxed);
}

static void loop_over_window(struct task *task)
{
    const struct workload *workload = plan->workload;
    uint64_t operations = 0;
    enum phase seen = PHASE_WARMUP;
    if (current_phase() == PHASE_WINDOW) {
        task->slot->at_begin = snapshot(task, 0);
        seen = PHASE_WINDOW;
    }
    for (;;) {
        operations += workload->batch(task, UINT64_MAX);
        publish(task, operations);
        enum phase phase = current_phase();
        if (phase == seen)
            continue;
        if (phase == PHASE_STOP)
            break;
        task->slot->at_begin = snapshot(task, operations);
        seen = phase;
    }
    task->slot->at_end = snapshot(task, operations);
    /* A batch may have lasted longer than the whole window. */
    task->slot->snapshots_taken = seen == PHASE_WINDOW;
}

static void loop_over_operations(struct task *task)
{
    const struct workload *workload = plan->workload;
    task->slot->at_begin = snapshot(task, 0);
    uint64_t operations = 0;
    while (operations < plan->operations) {
        operations += workload->batch(task, plan->operations - operations);
        publish(task, operations);
    }
    task->slot->at_end = snapshot(task, operations);
    task->slot->snapshots_taken = true;
    report(task);
    wait_for_end_of_file(task, pipes->leave[0]); /* a tear-down would disturb tasks that are still running */
}

static void *state_pages(struct task *task)
{
    size_t bytes = plan->workload->state_bytes;
    if (bytes == 0)
        return NULL;
    void *state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (state == MAP_FAILED)
        task_fail(task, "mmap", errno);
    return state;
}

/*
 * A task that forks should pay only for itself. Its children get neither the shared memory, which
 * would cost each fork and exit a mapping, nor the pipes (below).
 */
static void keep_control_from_children(void)
{
#if defined(MADV_DONTFORK)
    madvise(control, control_bytes, MADV_DONTFORK); /* a failure only costs a little time */
#elif defined(INHERIT_NONE)
    minherit(control, control_bytes, INHERIT_NONE);
#elif defined(MAP_INHERIT_NONE)
    minherit(control, control_bytes, MAP_INHERIT_NONE);
#endif
}

static void close_pipes(void)
{
    close(pipes->report[1]);
    close(pipes->barrier[0]);
    close(pipes->leave[0]);
}

static void task_main(struct task *task)
{
    const struct workload *workload = plan->workload;
    if (plan->pin_count > 0) {
        int error = pin_self(&plan->pin[task->index % plan->pin_count], 1);
        if (error != 0)
            task_fail(task, "pin", error);
    }
    task->state = state_pages(task);
    if (workload->setup != NULL)
        workload->setup(task);
    report(task);
    wait_for_end_of_file(task, pipes->barrier[0]);
    /* Threads share descriptors, and a fixed number of operations ends with a report. */
    if (plan->mode == MODE_PROCESS && plan->operations == 0)
        close_pipes();
    if (workload->become != NULL)
        workload->become(task);
    else if (plan->operations > 0)
        loop_over_operations(task);
    else
        loop_over_window(task);
    if (workload->teardown != NULL)
        workload->teardown(task);
}

static struct task new_task(unsigned index)
{
    return (struct task){.plan = plan, .index = index, .slot = &control->slot[index]};
}

static void *thread_main(void *argument)
{
    task_main(argument);
    return NULL;
}

static void host_threads(void)
{
    struct task first = new_task(0); /* stands for the host until the threads run */
    pthread_t *threads = calloc(plan->tasks, sizeof *threads);
    struct task *tasks = calloc(plan->tasks, sizeof *tasks);
    if (threads == NULL || tasks == NULL)
        task_fail(&first, "calloc", ENOMEM);
    for (unsigned i = 0; i < plan->tasks; i++) {
        tasks[i] = new_task(i);
        int error = pthread_create(&threads[i], NULL, thread_main, &tasks[i]);
        if (error != 0)
            task_fail(&first, "pthread_create", error);
    }
    for (unsigned i = 0; i < plan->tasks; i++)
        pthread_join(threads[i], NULL);
}

static void close_coordinator_ends(void)
{
    close(pipes->report[0]);
    close(pipes->barrier[1]);
    close(pipes->leave[1]);
}

_Noreturn void task_host_main(unsigned index)
{
    close_coordinator_ends();
    keep_control_from_children();
    if (plan->mode == MODE_THREAD) {
        host_threads();
    } else {
        struct task task = new_task(index);
        task_main(&task);
    }
    _exit(0);
}

_Noreturn void task_peer_main(unsigned index)
{
    close_coordinator_ends();
    struct task peer = {.plan = plan, .index = index, .slot = &control->slot[plan->tasks + index]};
    if (plan->pin_count > 0) {
        int error = pin_self(&plan->pin[index % plan->pin_count], 1);
        if (error != 0)
            task_fail(&peer, "pin", error);
    }
    plan->workload->peer(&peer);
    task_fail_text(&peer, "peer", ECHILD, "peer %u ended early", index);
}

void peer_ready(struct task *peer)
{
    report(peer);
    close_pipes();
}
