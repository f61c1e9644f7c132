/*
 * file_create: one operation creates an empty file, closes it, and removes it.
 *
 * - own-dir: each task in a directory of its own.
 * - shared-dir: all tasks in one directory, with distinct names.
 *
 * Paths are relative, so tasks look up nothing that others write, except the shared directory.
 * Nothing waits for a device: the cost is that of the file system's cache and journal, not of the
 * disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/filesystem.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { OWN_DIR, SHARED_DIR };
enum { BATCH_FILES = 16, NAME_BYTES = 64, PATH_BYTES = 4096 };

struct create_state {
    int directory;
    char name[NAME_BYTES];
};

static void prepare(const struct plan *plan)
{
    (void)plan;
    filesystem_note(lifetime_scratch(), false);
}

static void setup(struct task *task)
{
    struct create_state *state = task->state;
    char path[PATH_BYTES];
    bool is_own = plan_variant(task->plan) == OWN_DIR;
    if (is_own)
        snprintf(path, sizeof path, "%s/task-%u", lifetime_scratch(), task->index);
    else
        snprintf(path, sizeof path, "%s/all", lifetime_scratch());
    if (mkdir(path, 0700) != 0 && (is_own || errno != EEXIST))
        task_fail(task, "mkdir", errno);
    state->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->directory < 0)
        task_fail(task, "open", errno);
    snprintf(state->name, sizeof state->name, "file-%u", task->index);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    const struct create_state *state = task->state;
    uint64_t files = limit < BATCH_FILES ? limit : BATCH_FILES;
    for (uint64_t i = 0; i < files; i++) {
        int file = openat(state->directory, state->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0)
            task_fail(task, "open", errno);
        if (close(file) != 0)
            task_fail(task, "close", errno);
        if (unlinkat(state->directory, state->name, 0) != 0)
            task_fail(task, "unlink", errno);
    }
    return files;
}

static const struct variant variants[] = {
    [OWN_DIR] = {"own-dir", "each task in a directory of its own", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SHARED_DIR] = {"shared-dir", "all tasks in one directory", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload file_create = {
    .name = "file_create",
    .summary = "creation and removal of an empty file",
    .operation = "file",
    .unit = "file/s",
    .window_ms = 300,
    .lens_operations = 512,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct create_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
};
