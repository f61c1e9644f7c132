/*
 * path_stat: stat() of an existing path, relative to a directory in scratch. All names stay in the
 * system's name cache.
 *
 * - distinct: one path component. Each task has its own file in its own directory, so two tasks
 *   look up nothing in common.
 * - shared-dir: two components. One directory for all tasks, with a separate file for each.
 * - deep: nine components. Eight directories for all tasks, with a separate file for each.
 *
 * Each task changes to its directory, so it does not look up the path to scratch, which all tasks
 * would share. A process has only one current directory, so `distinct` runs only as processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lifetime.h"
#include "harness/file_io.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { DISTINCT, SHARED_DIR, DEEP };
enum { BATCH_STATS = 64, NAME_BYTES = 64, PATH_BYTES = 4096 };

struct path_state {
    char path[NAME_BYTES]; /* the path to look up */
};

/* Creates the directory unless another task already has. */
static void ensure_directory(struct task *task, const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        task_fail(task, "mkdir", errno);
}

/* Creates the directories of the path, then its file, from inside the task's directory. */
static void make_path(struct task *task)
{
    struct path_state *state = task->state;
    if (plan_variant(task->plan) == DISTINCT) {
        snprintf(state->path, sizeof state->path, "file-%u", task->index);
    } else {
        size_t length = 0;
        int depth = plan_variant(task->plan) == DEEP ? 8 : 1;
        for (int level = 1; level <= depth; level++) {
            length += (size_t)snprintf(state->path + length, sizeof state->path - length, "d%d", level);
            ensure_directory(task, state->path);
            state->path[length++] = '/';
        }
        snprintf(state->path + length, sizeof state->path - length, "file-%u", task->index);
    }
    if (file_make(state->path, "", 0) != 0)
        task_fail(task, "open", errno);
}

static void setup(struct task *task)
{
    char directory[PATH_BYTES];
    snprintf(directory, sizeof directory, "%s", lifetime_scratch());
    if (chdir(directory) != 0)
        task_fail(task, "chdir", errno);
    if (plan_variant(task->plan) == DISTINCT) {
        snprintf(directory, sizeof directory, "task-%u", task->index);
        ensure_directory(task, directory);
        if (chdir(directory) != 0)
            task_fail(task, "chdir", errno);
    }
    make_path(task);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    const char *path = ((struct path_state *)task->state)->path;
    uint64_t stats = limit < BATCH_STATS ? limit : BATCH_STATS;
    struct stat status;
    for (uint64_t i = 0; i < stats; i++)
        if (stat(path, &status) != 0)
            task_fail(task, "stat", errno);
    return stats;
}

static const struct variant variants[] = {
    [DISTINCT] = {"distinct", "one element, in a directory of its own for each task",
                  MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [SHARED_DIR] = {"shared-dir", "two elements: a directory that all share, a file for each",
                    MODES_BOTH, MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [DEEP] = {"deep", "nine elements: eight directories that all share, a file for each",
              MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload path_stat = {
    .name = "path_stat",
    .summary = "stat() of an existing path",
    .operation = "stat",
    .unit = "stat/s",
    .window_ms = 200,
    .place = 50,
    .lens_operations = 4096,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct path_state),
    .setup = setup,
    .batch = batch,
};
