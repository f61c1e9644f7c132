/*
 * dir_walk: one operation walks a tree of directories: opens and reads each, and reads the status
 * of each entry, as find and du do. All names and attributes stay in the system's caches.
 *
 * - own: each task walks a tree of its own.
 * - same: all tasks walk the same tree.
 *
 * A tree has 16 directories with 32 empty files each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/failure.h"
#include "harness/file_io.h"
#include "harness/filesystem.h"
#include "harness/lifetime.h"
#include "harness/task.h"
#include "harness/workload.h"

enum { OWN, SAME };
enum { DIRECTORIES = 16, FILES = 32, PATH_BYTES = 4096 };

struct walk_state {
    int tree;
};

static void tree_path(char *path, unsigned number)
{
    snprintf(path, PATH_BYTES, "%s/tree-%u", lifetime_scratch(), number);
}

/* Creates a tree. Returns the name of the call that failed, with errno, or NULL. */
static const char *make_tree(const char *tree)
{
    char path[PATH_BYTES + 64];
    if (mkdir(tree, 0700) != 0)
        return "mkdir";
    for (int directory = 0; directory < DIRECTORIES; directory++) {
        snprintf(path, sizeof path, "%s/d%d", tree, directory);
        if (mkdir(path, 0700) != 0)
            return "mkdir";
        for (int file = 0; file < FILES; file++) {
            snprintf(path, sizeof path, "%s/d%d/f%d", tree, directory, file);
            if (file_make(path, "", 0) != 0)
                return "open";
        }
    }
    return NULL;
}

static void prepare(const struct plan *plan)
{
    filesystem_note(lifetime_scratch(), false);
    if (plan_variant(plan) != SAME)
        return;
    char path[PATH_BYTES];
    tree_path(path, 0);
    const char *step = make_tree(path);
    if (step != NULL)
        failure_os(step, errno);
}

static void setup(struct task *task)
{
    struct walk_state *state = task->state;
    bool is_own = plan_variant(task->plan) == OWN;
    char path[PATH_BYTES];
    tree_path(path, is_own ? task->index : 0);
    const char *step = is_own ? make_tree(path) : NULL;
    if (step != NULL)
        task_fail(task, step, errno);
    state->tree = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->tree < 0)
        task_fail(task, "open", errno);
}

/* Walks the subtree of a directory entry; the tree has one level of directories. */
static void walk(struct task *task, int parent, const char *name)
{
    int file = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        task_fail(task, "open", errno);
    DIR *directory = fdopendir(file);
    if (directory == NULL)
        task_fail(task, "fdopendir", errno);
    struct dirent *entry;
    while (errno = 0, (entry = readdir(directory)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(file, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            task_fail(task, "fstatat", errno);
        if (S_ISDIR(status.st_mode))
            walk(task, file, entry->d_name);
    }
    if (errno != 0)
        task_fail(task, "readdir", errno);
    closedir(directory);
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit;
    walk(task, ((struct walk_state *)task->state)->tree, ".");
    return 1;
}

static const struct variant variants[] = {
    [OWN] = {"own", "each task a tree of its own", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
    [SAME] = {"same", "all tasks one tree", MODES_BOTH, MODE_PROCESS, 0, FULL(MODE_PROCESS)},
};

const struct workload dir_walk = {
    .name = "dir_walk",
    .summary = "walk through a tree of 16 directories and 512 files",
    .operation = "walk",
    .unit = "walk/s",
    .window_ms = 300,
    .lens_operations = 16,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct walk_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
};
