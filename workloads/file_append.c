/*
 * file_append: one operation appends --size bytes to a file.
 *
 * - own: each task to a file of its own. Measures the system's cache.
 * - same: all tasks to one file, opened with O_APPEND.
 * - sync: as own, and each operation waits until the data is on the device (fdatasync).
 *
 * A file that has reached 16 MiB, or one operation if that is larger, is truncated to 0 bytes, so
 * that disks do not fill up and the data stays in the cache. The truncation is part of the next
 * operation. A shared file is truncated by one task.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/data.h"
#include "harness/file_io.h"
#include "harness/filesystem.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { OWN, SAME, SYNC };
enum { BATCH_WRITES = 16, PATH_BYTES = 4096 };

static const uint64_t MOST_FILE_BYTES = UINT64_C(16) << 20;

struct append_state {
    int file;
    char *data;
    uint64_t written_bytes; /* by this task, since it truncated the file */
};

static uint64_t bytes_per_operation(const struct plan *plan)
{
    return plan->size;
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
    struct append_state *state = task->state;
    char path[PATH_BYTES];
    if (plan_variant(task->plan) == SAME)
        snprintf(path, sizeof path, "%s/all", lifetime_scratch());
    else
        snprintf(path, sizeof path, "%s/file-%u", lifetime_scratch(), task->index);
    state->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (state->file < 0)
        task_fail(task, "open", errno);
    state->data = data_new(task);
}

/*
 * True if this task truncates its file now. A shared file is truncated by one task when that task's
 * share is full.
 */
static bool is_full(const struct task *task)
{
    const struct append_state *state = task->state;
    bool is_shared = plan_variant(task->plan) == SAME;
    uint64_t most = is_shared ? MOST_FILE_BYTES / task->plan->tasks : MOST_FILE_BYTES;
    return state->written_bytes >= most && (!is_shared || task->index == 0);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    struct append_state *state = task->state;
    /* A batch of synchronous writes would end long after the window. */
    uint64_t most = plan_variant(task->plan) == SYNC ? 1 : BATCH_WRITES;
    uint64_t writes = limit < most ? limit : most;
    for (uint64_t i = 0; i < writes; i++) {
        if (is_full(task)) {
            if (ftruncate(state->file, 0) != 0)
                task_fail(task, "ftruncate", errno);
            state->written_bytes = 0;
        }
        if (file_write(state->file, state->data, task->plan->size) != 0)
            task_fail(task, "write", errno);
        if (plan_variant(task->plan) == SYNC && fdatasync(state->file) != 0)
            task_fail(task, "fdatasync", errno);
        state->written_bytes += task->plan->size;
    }
    return writes;
}

static const struct variant variants[] = {
    [OWN] = {"own", "to a file of its own, into the cache", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SAME] = {"same", "to one file, into the cache", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SYNC] = {"sync", "to a file of its own, waiting for the device", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload file_append = {
    .name = "file_append",
    .summary = "writes at the end of a file",
    .operation = "write",
    .unit = "write/s",
    .window_ms = 300,
    .default_size = 4096,
    .size_text = "bytes of each write",
    .most_size = UINT64_C(1) << 30,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 1024,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct append_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
};
