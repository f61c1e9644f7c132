/*
 * compile: each task compiles its own copy of a small C file to its own object file. One operation
 * is one compilation.
 *
 * The compiler is $CC, split at spaces, or `cc`. Its driver starts further programs; a separate
 * measure is the number of processes that the machine starts per second.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/command.h"
#include "harness/coordinator.h"
#include "harness/file_io.h"
#include "harness/lifetime.h"
#include "harness/protocol.h"
#include "harness/task.h"
#include "harness/workload.h"

extern char **environ;

enum { PATH_BYTES = 4096, ARGUMENTS_MAX = 64, OWN_ARGUMENTS = 5 };

/* A small version of an ordinary file: some headers, some types, some loops. */
static const char source[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "\n"
    "struct entry {\n"
    "    char *key;\n"
    "    long value;\n"
    "    struct entry *next;\n"
    "};\n"
    "\n"
    "enum { BUCKETS = 64 };\n"
    "static struct entry *table[BUCKETS];\n"
    "\n"
    "static unsigned hash(const char *key)\n"
    "{\n"
    "    unsigned h = 2166136261u;\n"
    "    for (; *key != 0; key++)\n"
    "        h = (h ^ (unsigned char)*key) * 16777619u;\n"
    "    return h % BUCKETS;\n"
    "}\n"
    "\n"
    "struct entry *lookup(const char *key)\n"
    "{\n"
    "    for (struct entry *e = table[hash(key)]; e != NULL; e = e->next)\n"
    "        if (strcmp(e->key, key) == 0)\n"
    "            return e;\n"
    "    return NULL;\n"
    "}\n"
    "\n"
    "int store(const char *key, long value)\n"
    "{\n"
    "    struct entry *e = lookup(key);\n"
    "    if (e == NULL) {\n"
    "        size_t length = strlen(key) + 1;\n"
    "        e = malloc(sizeof *e);\n"
    "        if (e == NULL || (e->key = malloc(length)) == NULL)\n"
    "            return -1;\n"
    "        memcpy(e->key, key, length);\n"
    "        e->next = table[hash(key)];\n"
    "        table[hash(key)] = e;\n"
    "    }\n"
    "    e->value = value;\n"
    "    return 0;\n"
    "}\n"
    "\n"
    "void print_all(FILE *out)\n"
    "{\n"
    "    for (int i = 0; i < BUCKETS; i++)\n"
    "        for (struct entry *e = table[i]; e != NULL; e = e->next)\n"
    "            fprintf(out, \"%s=%ld\\n\", e->key, e->value);\n"
    "}\n";

struct compile_state {
    char *arguments[ARGUMENTS_MAX];
    char source_path[PATH_BYTES];
    char object_path[PATH_BYTES];
};

/* Set by prepare(), before any task exists. */
static char **compiler;

static void prepare(const struct plan *plan)
{
    (void)plan;
    compiler = command_compiler(0);
}

/* The environment of the compiler. It is also the task's, because a task is a process. */
static void set_environment(struct task *task)
{
    char directory[PATH_BYTES];
    snprintf(directory, sizeof directory, "%s/tmp-%u", lifetime_scratch(), task->index);
    /*
     * Otherwise the driver's temporary files would lie in a directory shared by all tasks and other
     * programs.
     */
    if (mkdir(directory, 0700) != 0 || setenv("TMPDIR", directory, 1) != 0)
        task_fail(task, "directory", errno);
    /* A compiler cache would return the first object file again and again. */
    if (setenv("CCACHE_DISABLE", "1", 1) != 0)
        task_fail(task, "setenv", errno);
}

static void setup(struct task *task)
{
    struct compile_state *state = task->state;
    set_environment(task);
    snprintf(state->source_path, sizeof state->source_path, "%s/unit-%u.c", lifetime_scratch(), task->index);
    snprintf(state->object_path, sizeof state->object_path, "%s/unit-%u.o", lifetime_scratch(), task->index);
    if (file_make(state->source_path, source, sizeof source - 1) != 0)
        task_fail(task, "file", errno);

    static char compile_only[] = "-c";
    static char output[] = "-o";
    size_t count = 0;
    for (; compiler[count] != NULL; count++) {
        if (count + OWN_ARGUMENTS == ARGUMENTS_MAX)
            task_fail_text(task, "compiler", E2BIG, "CC has too many words");
        state->arguments[count] = compiler[count];
    }
    state->arguments[count++] = compile_only;
    state->arguments[count++] = output;
    state->arguments[count++] = state->object_path;
    state->arguments[count++] = state->source_path;
}

static uint64_t batch(struct task *task, uint64_t limit)
{
    (void)limit; /* one at a time */
    struct compile_state *state = task->state;
    if (unlink(state->object_path) != 0 && errno != ENOENT)
        task_fail(task, "unlink", errno);
    pid_t child;
    int error = posix_spawnp(&child, state->arguments[0], NULL, NULL, state->arguments, environ);
    if (error != 0)
        task_fail(task, "posix_spawnp", error);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            task_fail(task, "waitpid", errno);
    if (WIFSIGNALED(status))
        task_fail_text(task, "compiler", ECHILD, "the compiler was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        task_fail_text(task, "compiler", WEXITSTATUS(status), "the compiler ended with status %d", WEXITSTATUS(status));
    struct stat object;
    if (stat(state->object_path, &object) != 0 || object.st_size == 0)
        task_fail_text(task, "compiler", ENOENT, "the compiler succeeded but wrote no object file");
    return 1;
}

static void conclude(const struct plan *plan, const struct region *region)
{
    (void)plan;
    int64_t processes;
    if (counters_processes_name == NULL ||
        !counters_change(&region->before, &region->after, counters_processes_name, &processes))
        return;
    double seconds = (double)(region->end_ns - region->begin_ns) / (double)NS_PER_S;
    protocol_line("measure processes process/s higher %.3f", (double)processes / seconds);
}

static const struct variant variants[] = {
    {"small-c", "one small C file that includes three standard headers",
     MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
};

const struct workload compile = {
    .name = "compile",
    .summary = "compile one small C file",
    .operation = "compilation",
    .unit = "compilation/s",
    .window_ms = 2000,
    .place = 90,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .needs_scratch = true,
    .state_bytes = sizeof(struct compile_state),
    .prepare = prepare,
    .setup = setup,
    .batch = batch,
    .conclude = conclude,
};
