/*
 * file_read: one operation reads --size bytes from a cached file, sequentially.
 *
 * - own: each task reads a file of its own.
 * - same: all tasks read the same file, each at its own position.
 *
 * A file has 16 MiB, or one read if that is larger. Before the window it is written, written back,
 * and read once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/data.h"
#include "harness/failure.h"
#include "harness/file_io.h"
#include "harness/filesystem.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { OWN, SAME };
enum { BATCH_READS = 32, PATH_BYTES = 4096 };

static const uint64_t FILE_BYTES = UINT64_C(16) << 20;

struct read_state {
    int file;
    char *data;
    uint64_t place;
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

/* Number of whole reads in the file. */
static uint64_t reads_of_file(const struct plan *plan)
{
    return plan->size < FILE_BYTES ? FILE_BYTES / plan->size : 1;
}

/*
 * Creates a file and writes it back, so that the disk is idle later. Returns -1 with errno on
 * failure.
 */
static int make_file(const struct plan *plan, const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && (file_fill(file, reads_of_file(plan) * plan->size) != 0 || fsync(file) != 0)) {
        int error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

static void path_of(char *path, unsigned number)
{
    snprintf(path, PATH_BYTES, "%s/file-%u", lifetime_scratch(), number);
}

static void prepare(const struct plan *plan)
{
    filesystem_note(lifetime_scratch(), false);
    if (plan_variant(plan) != SAME)
        return;
    char path[PATH_BYTES];
    path_of(path, 0);
    int file = make_file(plan, path);
    if (file < 0)
        failure_os("write", errno);
    close(file);
}

static void read_one(struct task *task)
{
    struct read_state *state = task->state;
    uint64_t bytes = task->plan->size;
    ssize_t got = pread(state->file, state->data, bytes, (off_t)(state->place * bytes));
    if (got != (ssize_t)bytes)
        task_fail(task, "pread", got < 0 ? errno : EIO);
    state->place = (state->place + 1) % reads_of_file(task->plan);
}

static void setup(struct task *task)
{
    struct read_state *state = task->state;
    const struct plan *plan = task->plan;
    bool is_own = plan_variant(plan) == OWN;
    char path[PATH_BYTES];
    path_of(path, is_own ? task->index : 0);
    state->file = is_own ? make_file(plan, path) : open(path, O_RDONLY | O_CLOEXEC);
    if (state->file < 0)
        task_fail(task, "open", errno);
    state->data = data_new(task);
    for (uint64_t i = 0; i < reads_of_file(plan); i++)
        read_one(task);
    state->place = reads_of_file(plan) * task->index / plan->tasks;
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    uint64_t reads = limit < BATCH_READS ? limit : BATCH_READS;
    for (uint64_t i = 0; i < reads; i++)
        read_one(task);
    return reads;
}

static const struct variant variants[] = {
    [OWN] = {"own", "of a file of its own", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SAME] = {"same", "of one file", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload file_read = {
    .name = "file_read",
    .summary = "reads of a file in the cache",
    .operation = "read",
    .unit = "read/s",
    .window_ms = 200,
    .default_size = 4096,
    .size_text = "bytes of each read",
    .most_size = UINT64_C(1) << 30,
    .size_memory = size_memory,
    .bytes_per_operation = bytes_per_operation,
    .lens_operations = 4096,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct read_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
};
