/*
 * program: runs the command after `--` once, with K copies per task (--copies K), all concurrently.
 * Measures the time until the last copy has ended.
 *
 * The copies run in the directory from which the workload was called, without input. Their output
 * is discarded, except for the last lines of a copy that fails. User and system time are those of
 * all processes that the copies started and that have ended by then. The largest process is the one
 * with the highest memory use among them; this is never less than the coordinator's memory when it
 * forked. The caller must limit the time of the command.
 *
 * `--prepare WORD`, once per word, gives another command. It runs once before the copies, in the
 * same directory and on any CPU, and is not measured, nor are processes that it leaves. Its failure
 * is that of the execution.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "harness/copies.h"
#include "harness/options.h"
#include "harness/pin.h"
#include "harness/protocol.h"
#include "harness/workload.h"

enum { PREPARE_WORDS_MAX = 1024 };

static unsigned copies = 1;
static char *prepare_words[PREPARE_WORDS_MAX + 1];
static size_t prepare_word_count;

static const char *set_copies(const char *value)
{
    return copies_read(value, &copies);
}

static const char *add_prepare_word(const char *value)
{
    if (prepare_word_count == PREPARE_WORDS_MAX)
        return "more than 1024 words";
    prepare_words[prepare_word_count++] = (char *)value; /* a word of argv, which exec takes */
    return NULL;
}

static const char *refuse(const struct plan *plan)
{
    if (plan->operations > 0)
        return "--ops has no meaning for program";
    if (plan->tasks * copies > TASKS_MAX)
        return "more than 4096 copies at once";
    return plan->command == NULL ? "program needs a command after --" : NULL;
}

static const char *enter(const struct plan *plan, unsigned copy)
{
    if (plan->pin_count == 0)
        return NULL;
    errno = pin_self(&plan->pin[copy % plan->tasks % plan->pin_count], 1);
    return errno == 0 ? NULL : "pin";
}

static const char *enter_anywhere(const struct plan *plan, unsigned copy)
{
    (void)plan;
    (void)copy;
    return NULL;
}

static void prepare(const struct plan *plan)
{
    static struct copies preparation = {.command = prepare_words, .step = "prepare", .count = 1, .apart = true, .enter = enter_anywhere};
    if (prepare_word_count > 0) {
        copies_prepare(plan, &preparation);
        copies_run();
    }
    static struct copies all;
    all = (struct copies){.command = plan->command, .count = plan->tasks * copies, .enter = enter};
    protocol_line("note copies %u", copies);
    copies_prepare(plan, &all);
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
    protocol_line("measure largest_process_bytes byte lower %" PRIu64, copies_largest_bytes());
}

static const struct workload_option options[] = {
    {"--copies", "K", "how many copies for each task (1)", set_copies},
    {"--prepare", "WORD", "a word of a command to run before, unmeasured; repeatable", add_prepare_word},
};

static const struct variant variants[] = {
    {"given", "the command after --, as many copies as tasks", MODE_BIT(MODE_PROCESS), MODE_PROCESS, 0, 0},
};

const struct workload program = {
    .name = "program",
    .summary = "run a command of yours, N copies of it at once",
    .operation = "run",
    .unit = "s",
    .lower_is_better = true,
    .style = STYLE_ONCE,
    .window_ms = 1,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .takes_command = true,
    .examples = {"-- ./simulate input.txt", "--tasks 2 --pin 0,1 -- sort -o /dev/null words.txt"},
    .needs_scratch = true,
    .refuse = refuse,
    .prepare = prepare,
    .run = run,
    .conclude = conclude,
};
