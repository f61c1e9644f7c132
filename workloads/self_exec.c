/*
 * self_exec: a program execs itself. One operation is one exec.
 *
 * The program is self_exec_image, linked statically or dynamically. With distinct each task has its
 * own copy of the program's file (the shared libraries of the dynamic one are not copied). With
 * shared all tasks run one copy. Both are in scratch, on one file system. Each task publishes its
 * count through its own memory object, so tasks share no inode for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/failure.h"
#include "harness/file_io.h"
#include "harness/lifetime.h"
#include "harness/shared_object.h"
#include "harness/task.h"
#include "harness/workload.h"
#include "self_exec_record.h"

enum { STATIC_DISTINCT, STATIC_SHARED, DYNAMIC_DISTINCT, DYNAMIC_SHARED };
enum { PATH_BYTES = 4096, NUMBER_BYTES = 24 };

/* Set by prepare(), before any task exists. */
static char image[PATH_BYTES];
static int *records;

static bool is_static(const struct plan *plan)
{
    return plan_variant(plan) == STATIC_DISTINCT || plan_variant(plan) == STATIC_SHARED;
}

static bool is_shared(const struct plan *plan)
{
    return plan_variant(plan) == STATIC_SHARED || plan_variant(plan) == DYNAMIC_SHARED;
}

/* Finds the image next to this program, which was started by a path or found in $PATH. */
static bool image_beside(const char *directory, size_t length, const struct plan *plan)
{
    int n = snprintf(image, sizeof image, "%.*s/self_exec_image.%s", (int)length, length > 0 ? directory : ".",
                     is_static(plan) ? "static" : "dynamic");
    return n > 0 && (size_t)n < sizeof image && access(image, R_OK) == 0;
}

static bool find_image(const struct plan *plan)
{
    const char *slash = strrchr(plan->program, '/');
    if (slash != NULL)
        return image_beside(slash == plan->program ? "/." : plan->program, slash == plan->program ? 2 : (size_t)(slash - plan->program),
                            plan);
    const char *rest = getenv("PATH");
    while (rest != NULL) {
        size_t length = strcspn(rest, ":");
        if (image_beside(length > 0 ? rest : ".", length > 0 ? length : 1, plan))
            return true;
        rest = rest[length] == ':' ? rest + length + 1 : NULL;
    }
    return false;
}

static void copy_path(char path[PATH_BYTES], unsigned number)
{
    snprintf(path, PATH_BYTES, "%s/image-%u", lifetime_scratch(), number);
}

static void prepare(const struct plan *plan)
{
    if (!find_image(plan))
        failure_unsupported("image", "there is no %s self_exec_image beside this program",
                            is_static(plan) ? "static" : "dynamic");
    records = calloc(plan->tasks, sizeof *records);
    if (records == NULL)
        failure_os("calloc", errno);
    for (unsigned i = 0; i < plan->tasks; i++) {
        records[i] = shared_object_open();
        if (records[i] < 0)
            failure_os("object", errno);
    }
    if (is_shared(plan)) {
        char path[PATH_BYTES];
        copy_path(path, 0);
        if (file_copy(image, path, 0700) != 0)
            failure_os("copy", errno);
    }
}

static void setup(struct task *task)
{
    char path[PATH_BYTES];
    copy_path(path, task->index);
    if (!is_shared(task->plan) && file_copy(image, path, 0700) != 0)
        task_fail(task, "copy", errno);
    /* The program inherits only its own record. */
    if (fcntl(records[task->index], F_SETFD, 0) != 0)
        task_fail(task, "fcntl", errno);
}

static void become(struct task *task)
{
    char path[PATH_BYTES];
    char record[NUMBER_BYTES];
    char stop[NUMBER_BYTES];
    char zero[] = "0";
    copy_path(path, is_shared(task->plan) ? 0 : task->index);
    snprintf(record, sizeof record, "%d", records[task->index]);
    snprintf(stop, sizeof stop, "%" PRIu64, task->plan->operations);
    /*
     * The environment is empty, because the amount that each exec copies would otherwise depend on
     * the caller.
     */
    char *no_environment[] = {NULL};
    char *arguments[] = {path, record, zero, stop, NULL};
    execve(path, arguments, no_environment);
    task_fail(task, "exec", errno);
}

static uint64_t record_field(unsigned index, size_t offset)
{
    uint64_t value;
    ssize_t n = pread(records[index], &value, sizeof value, (off_t)offset);
    return n == (ssize_t)sizeof value ? value : 0; /* the record grows when it is first written */
}

static uint64_t progress(unsigned index)
{
    return record_field(index, offsetof(struct self_exec_record, count));
}

static int become_errno(unsigned index)
{
    return (int)record_field(index, offsetof(struct self_exec_record, error));
}

static const struct variant variants[] = {
    [STATIC_DISTINCT] = {"static-distinct", "static, each task its own copy of the file",
                         MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [STATIC_SHARED] = {"static-shared", "static, one file for all tasks",
                       MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [DYNAMIC_DISTINCT] = {"dynamic-distinct", "dynamic, each task its own copy of the file",
                          MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [DYNAMIC_SHARED] = {"dynamic-shared", "dynamic, one file for all tasks",
                        MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
};

const struct workload self_exec = {
    .name = "self_exec",
    .summary = "a program execs itself",
    .operation = "exec",
    .unit = "exec/s",
    .window_ms = 300,
    .place = 10,
    .lens_operations = 32,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .prepare = prepare,
    .setup = setup,
    .become = become,
    .progress = progress,
    .become_errno = become_errno,
};
