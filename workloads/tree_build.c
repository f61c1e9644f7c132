/*
 * tree_build: builds a whole source tree, in K concurrent copies, each with a number of jobs.
 * Measures the time once.
 *
 * - generated: a generated tree (tree/generate.c) of --size C files, built by `make -jTASKS`, with
 *   one link at the end.
 * - given: a copy of --tree DIR, built by the command after `--`; {tasks} stands for TASKS.
 *
 * Trees are generated and copied before the region of interest. User and system time are those of
 * all processes that the builds started and waited for. The caller must limit the time of a build:
 * it may take hours.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/command.h"
#include "harness/copies.h"
#include "harness/failure.h"
#include "harness/lifetime.h"
#include "harness/pin.h"
#include "harness/protocol.h"
#include "harness/signals.h"
#include "harness/workload.h"
#include "tree/copy.h"
#include "tree/generate.h"

enum { GENERATED, GIVEN };
enum { PATH_BYTES = 4096, WORD_BYTES = 65536, LINE_BYTES = 256 };

static const char *tree;
static unsigned copies = 1;
static char **command;

/* ---- options ---- */

static const char *set_tree(const char *value)
{
    struct stat status;
    if (stat(value, &status) != 0 || !S_ISDIR(status.st_mode))
        return "not a directory";
    tree = value;
    return NULL;
}

static const char *set_copies(const char *value)
{
    return copies_read(value, &copies);
}

static bool lies_in(const char *inner, const char *outer)
{
    char *inner_path = realpath(inner, NULL);
    char *outer_path = realpath(outer, NULL);
    bool inside = false;
    if (inner_path != NULL && outer_path != NULL) {
        size_t length = strlen(outer_path);
        inside = strncmp(inner_path, outer_path, length) == 0 &&
                 (inner_path[length] == '/' || inner_path[length] == '\0' || outer_path[length - 1] == '/');
    }
    free(inner_path);
    free(outer_path);
    return inside;
}

static const char *refuse(const struct plan *plan)
{
    if (plan_variant(plan) == GENERATED) {
        if (tree != NULL || plan->command != NULL)
            return "--tree and a command belong to --variant given";
        return NULL;
    }
    if (tree == NULL)
        return "--variant given needs --tree DIR";
    if (plan->command == NULL)
        return "--variant given needs a command after --";
    return lies_in(plan->scratch_parent, tree) ? "the scratch directory lies in the tree that would be copied into it" : NULL;
}

/* ---- before the region ---- */

static void copy_path(char path[PATH_BYTES], unsigned copy, const char *suffix)
{
    snprintf(path, PATH_BYTES, "%s/copy-%u%s", lifetime_scratch(), copy, suffix);
}

/* The word with each {tasks} replaced, in newly allocated memory. */
static char *with_jobs(const char *word, unsigned jobs)
{
    static const char placeholder[] = "{tasks}";
    static char text[WORD_BYTES];
    size_t length = 0;
    while (*word != '\0') {
        int n;
        if (strncmp(word, placeholder, sizeof placeholder - 1) == 0) {
            n = snprintf(text + length, sizeof text - length, "%u", jobs);
            word += sizeof placeholder - 1;
        } else {
            n = snprintf(text + length, sizeof text - length, "%c", *word++);
        }
        length += (size_t)n;
        if (length >= sizeof text)
            failure_os("command", E2BIG);
    }
    text[length] = '\0';
    char *copy = strdup(text);
    if (copy == NULL)
        failure_os("strdup", errno);
    return copy;
}

static char **command_with_jobs(char *const *words, unsigned jobs)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    char **result = calloc(count + 1, sizeof *result);
    if (result == NULL)
        failure_os("calloc", errno);
    for (size_t i = 0; i < count; i++)
        result[i] = with_jobs(words[i], jobs);
    return result;
}

static void prepare_generated(const struct plan *plan)
{
    static char make[] = "make";
    static char version[] = "--version";
    static char jobs[] = "-j{tasks}";
    char *const ask[] = {make, version, NULL};
    char *const words[] = {make, jobs, NULL};
    char line[LINE_BYTES];

    free(command_compiler(0)); /* make finds the compiler by itself; this only prints the note */
    int error = command_first_line(ask, line, sizeof line);
    if (error != 0)
        failure_unsupported("make", "cannot run make: %s", strerror(error));
    if (line[0] != '\0') /* the BSDs' make does not print its version */
        protocol_line("note make %s", line);
    protocol_line("note files %" PRIu64, plan->size);
    command = command_with_jobs(words, plan->tasks);
}

static void let_signals_in(void)
{
    signals_wait(0, -1); /* copying a large tree takes minutes: end at once on a signal */
}

static void make_copy(const struct plan *plan, unsigned copy)
{
    char path[PATH_BYTES];
    copy_path(path, copy, "");
    if (plan_variant(plan) == GIVEN) {
        if (tree_copy(tree, path, let_signals_in) != 0)
            failure_os_text("copy", errno, "%s: %s", tree_copy_failed_path(), strerror(errno));
    } else if (mkdir(path, 0700) != 0 || tree_generate(path, (unsigned)plan->size) != 0) {
        failure_os("generate", errno);
    }
}

/* ---- the builds ---- */

/* All builds share the CPUs of the first TASKS entries of the list. Returns 0 or an errno. */
static int confine(const struct plan *plan)
{
    if (plan->pin_count == 0)
        return 0;
    return pin_self(plan->pin, plan->tasks < plan->pin_count ? plan->tasks : plan->pin_count);
}

/*
 * Unsets the caller's variables that would influence the build. Sets TMPDIR, because all builds
 * would share the default directory.
 */
static bool set_environment(unsigned copy)
{
    /*
     * The jobs and flags of a make that started us, and the user's general settings for make, would
     * affect the build.
     */
    static const char *const of_make[] = {"MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES", "MAKELEVEL", "CARGO_MAKEFLAGS"};
    for (size_t i = 0; i < sizeof of_make / sizeof of_make[0]; i++)
        unsetenv(of_make[i]);
    char path[PATH_BYTES];
    copy_path(path, copy, ".tmp");
    /* A compiler cache would return cached objects. */
    return mkdir(path, 0700) == 0 && setenv("TMPDIR", path, 1) == 0 && setenv("CCACHE_DISABLE", "1", 1) == 0;
}

static const char *enter(const struct plan *plan, unsigned copy)
{
    errno = confine(plan);
    if (errno != 0)
        return "pin";
    char path[PATH_BYTES];
    copy_path(path, copy, "");
    if (chdir(path) != 0)
        return "chdir";
    return set_environment(copy) ? NULL : "environment";
}

/* With some settings, make builds nothing and also exits with 0. */
static void check_program(unsigned copy)
{
    char path[PATH_BYTES];
    copy_path(path, copy, "/program");
    if (access(path, X_OK) != 0)
        failure_os_text("command", ENOENT, "%s succeeded but built no program", command[0]);
}

static void prepare(const struct plan *plan)
{
    protocol_line("note copies %u", copies);
    if (plan_variant(plan) == GENERATED)
        prepare_generated(plan);
    else
        command = command_with_jobs(plan->command, plan->tasks);
    for (unsigned copy = 0; copy < copies; copy++)
        make_copy(plan, copy);

    static struct copies builds;
    builds = (struct copies){
        .command = command,
        .count = copies,
        .keeps_output = true,
        .enter = enter,
        .check = plan_variant(plan) == GENERATED ? check_program : NULL,
    };
    copies_prepare(plan, &builds);
}

static void run(const struct plan *plan)
{
    (void)plan;
    copies_run();
}

static void conclude(const struct plan *plan, const struct region *region)
{
    (void)plan;
    copies_print_times(region);
}

static const struct workload_option options[] = {
    {"--tree", "DIR", "given: the tree to copy and build", set_tree},
    {"--copies", "K", "how many copies to build at once (1)", set_copies},
};

static const struct variant variants[] = {
    [GENERATED] = {"generated", "a generated tree, built by make -jTASKS",
                   MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, QUICK(MODE_PROCESS) | FULL(MODE_PROCESS)},
    [GIVEN] = {"given", "--tree DIR, built by the command after --", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, 0},
};

const struct workload tree_build = {
    .name = "tree_build",
    .summary = "build a whole source tree, K copies at once, with N jobs each",
    .operation = "build",
    .unit = "s",
    .lower_is_better = true,
    .style = STYLE_ONCE,
    .window_ms = 2000,
    .default_size = 16,
    .size_text = "C files in a generated tree",
    .most_size = TREE_FILES_MAX,
    .place = 100,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .takes_command = true,
    .examples = {"--tasks 2", "--variant given --tree DIR --copies 2 -- make -j{tasks}"},
    .needs_scratch = true,
    .refuse = refuse,
    .prepare = prepare,
    .run = run,
    .conclude = conclude,
};
