/*
 * tree_unpack: one operation writes a tree of 8 directories with 16 files of --size bytes each, as
 * unpacking an archive does, and removes it.
 *
 * - cached: into the system's cache.
 * - sync: waits before the removal until each file is on the device (fsync).
 *
 * Each task has a directory of its own, and the files' data in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/data.h"
#include "harness/file_io.h"
#include "harness/filesystem.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { CACHED, SYNC };
enum { DIRECTORIES = 8, FILES = 16, NAME_BYTES = 32, PATH_BYTES = 4096 };

struct unpack_state {
    int place;
    char *data;
};

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan->size * DIRECTORIES * FILES;
}

static enum size_memory size_memory(const struct plan *plan)
{
    (void)plan;
    return SIZE_IN_EACH_TASK;
}

static void prepare(const struct plan *plan)
{
    filesystem_note(lifetime_scratch(), plan_variant(plan) == SYNC);
}

static void setup(struct task *task)
{
    struct unpack_state *state = task->state;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/task-%u", lifetime_scratch(), task->index);
    if (mkdir(path, 0700) != 0)
        task_fail(task, "mkdir", errno);
    state->place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->place < 0)
        task_fail(task, "open", errno);
    state->data = data_new(task);
}

static void directory_name(char *name, int directory)
{
    snprintf(name, NAME_BYTES, "d%d", directory);
}

static void file_name(char *name, int directory, int file)
{
    snprintf(name, NAME_BYTES, "d%d/f%d", directory, file);
}

static void unpack_file(struct task *task, const char *name)
{
    const struct unpack_state *state = task->state;
    int file = openat(state->place, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        task_fail(task, "open", errno);
    if (file_write(file, state->data, task->plan->size) != 0)
        task_fail(task, "write", errno);
    if (plan_variant(task->plan) == SYNC && fsync(file) != 0)
        task_fail(task, "fsync", errno);
    if (close(file) != 0)
        task_fail(task, "close", errno);
}

static void unpack(struct task *task)
{
    const struct unpack_state *state = task->state;
    char name[NAME_BYTES];
    for (int directory = 0; directory < DIRECTORIES; directory++) {
        directory_name(name, directory);
        if (mkdirat(state->place, name, 0700) != 0)
            task_fail(task, "mkdir", errno);
        for (int file = 0; file < FILES; file++) {
            file_name(name, directory, file);
            unpack_file(task, name);
        }
    }
}

static void remove_tree(struct task *task)
{
    const struct unpack_state *state = task->state;
    char name[NAME_BYTES];
    for (int directory = 0; directory < DIRECTORIES; directory++) {
        for (int file = 0; file < FILES; file++) {
            file_name(name, directory, file);
            if (unlinkat(state->place, name, 0) != 0)
                task_fail(task, "unlink", errno);
        }
        directory_name(name, directory);
        if (unlinkat(state->place, name, AT_REMOVEDIR) != 0)
            task_fail(task, "rmdir", errno);
    }
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit;
    unpack(task);
    remove_tree(task);
    return 1;
}

static const struct variant variants[] = {
    [CACHED] = {"cached", "into the cache", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SYNC] = {"sync", "waits for the device after each file", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload tree_unpack = {
    .name = "tree_unpack",
    .summary = "a tree of 8 directories and 128 files, written and removed",
    .operation = "tree",
    .unit = "tree/s",
    .window_ms = 500,
    .default_size = 4096,
    .size_text = "bytes of each file",
    .most_size = UINT64_C(1) << 26,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 4,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct unpack_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
};
