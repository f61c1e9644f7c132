/* See describe.h. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

/* Modes of a variant, its default first. */
static const char *modes_text(const struct variant *variant)
{
    if (variant->modes == MODES_BOTH)
        return variant->default_mode == MODE_PROCESS ? "process,thread" : "thread,process";
    return variant->modes == MODE_BIT(MODE_PROCESS) ? "process" : "thread";
}

/* The variants that belong to the suite, each with its mode there. */
static void print_suite(const struct workload *workload, enum suite suite)
{
    static const char *const names[SUITE_COUNT] = {[SUITE_QUICK] = "quick", [SUITE_FULL] = "full"};
    static const char *const modes[] = {[MODE_PROCESS] = "process", [MODE_THREAD] = "thread"};
    char members[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < workload->variant_count; i++)
        for (unsigned mode = MODE_PROCESS; mode <= MODE_THREAD; mode++)
            if ((workload->variants[i].suites & SUITE_BIT(suite, mode)) != 0 && length < sizeof members)
                length += (size_t)snprintf(members + length, sizeof members - length, " %s/%s", workload->variants[i].name,
                                           modes[mode]);
    /* The suite `full` is ordered by name. */
    protocol_line("suite %s %u%s", names[suite], suite == SUITE_QUICK ? workload->place : 0, members);
}

uint64_t describe_least_size(const struct plan *plan)
{
    return plan->workload->least_size != NULL ? plan->workload->least_size(plan) : 1;
}

uint64_t describe_most_size(const struct workload *workload)
{
    return workload->most_size > 0 ? workload->most_size : SIZE_MAX_BYTES;
}

static struct plan plan_of(const struct workload *workload, const struct variant *variant)
{
    return (struct plan){.workload = workload, .variant = variant, .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
}

/* The sizes that each variant takes, and the memory in which they lie. */
static void print_size_ranges(const struct workload *workload)
{
    static const char *const places[] = {[SIZE_IN_NONE] = "", [SIZE_IN_ONE_PLACE] = " once", [SIZE_IN_EACH_TASK] = " each"};
    for (size_t i = 0; i < workload->variant_count; i++) {
        const struct plan plan = plan_of(workload, &workload->variants[i]);
        enum size_memory memory = workload->size_memory != NULL ? workload->size_memory(&plan) : SIZE_IN_NONE;
        protocol_line("size_range %s %" PRIu64 " %" PRIu64 "%s", workload->variants[i].name, describe_least_size(&plan),
                      describe_most_size(workload), places[memory]);
    }
}

static void print_lens_operations(const struct workload *workload)
{
    if (workload->lens_operations > 0)
        protocol_line("lens_operations %" PRIu64, workload->lens_operations);
    for (size_t i = 0; i < workload->variant_count && workload->variant_lens_operations != NULL; i++) {
        const struct plan plan = plan_of(workload, &workload->variants[i]);
        uint64_t operations = workload->variant_lens_operations(&plan);
        if (operations > 0)
            protocol_line("lens_operations %" PRIu64 " %s", operations, workload->variants[i].name);
    }
}

static void print_roles(void)
{
    protocol_line("role %s optional", ROLE_RECEIVER);
    protocol_line("role %s optional", ROLE_FORWARDER);
}

_Noreturn void describe_print(const struct workload *workload)
{
    protocol_line("faultline-describe 1 %s", workload->name);
    protocol_line("summary %s", workload->summary);
    protocol_line("operation %s", workload->operation);
    protocol_line("unit %s", workload->unit);
    protocol_line("direction %s", workload->lower_is_better ? "lower" : "higher");
    protocol_line("style %s", workload->style == STYLE_ONCE ? "once" : "loop");
    protocol_line("window_ms %u", workload->window_ms);
    if (workload->default_size > 0)
        protocol_line("size %" PRIu64 " %s", workload->default_size, workload->size_text);
    for (size_t i = 0; i < workload->variant_count; i++)
        protocol_line("variant %s %s %s", workload->variants[i].name, modes_text(&workload->variants[i]),
                      workload->variants[i].text);
    if (workload->default_size > 0)
        print_size_ranges(workload);
    if (workload->uses_network)
        print_roles();
    print_lens_operations(workload);
    for (enum suite suite = SUITE_QUICK; suite < SUITE_COUNT; suite++)
        print_suite(workload, suite);
    protocol_line("end");
    exit(0);
}

static void print_loop_options(void)
{
    puts("  --warmup-ms N         warm-up time before the window (200)\n"
         "  --window-ms N         time in which operations are counted\n"
         "  --interval-ms N       length of an interval of the window (100)\n"
         "  --ops N               do exactly N operations per task instead of a window");
}

_Noreturn void describe_help(const struct workload *workload)
{
    printf("%s: %s\n\nusage: %s [OPTION VALUE]...%s\n\n", workload->name, workload->summary, workload->name,
           workload->takes_command ? " [-- COMMAND ARG...]" : "");
    puts("variants (the first is the default):");
    for (size_t i = 0; i < workload->variant_count; i++)
        printf("  %-16s %s (%s)\n", workload->variants[i].name, workload->variants[i].text,
               modes_text(&workload->variants[i]));
    puts("\noptions:\n"
         "  --variant NAME        variant to run\n"
         "  --tasks N             number of tasks (1)\n"
         "  --mode process|thread kind of task\n"
         "  --pin none|CPU,...    task i runs on entry i of the list, repeated as needed (none)");
    if (workload->style == STYLE_LOOP)
        print_loop_options();
    if (workload->default_size > 0)
        printf("  --size N              %s (%" PRIu64 ")\n", workload->size_text, workload->default_size);
    if (workload->uses_network)
        puts("  --role ROLE           be a partner of a measured execution: receiver or forwarder\n"
             "  --at ADDRESS,...      addresses of this end (the loopback device's)\n"
             "  --far ROLE=ADDRESS,...  addresses of the partner in that role; without a receiver, peers run here\n"
             "  FAULTLINE_TOKEN=HEX   (environment) the same 32 hexadecimal digits at all ends; required beyond the loopback device");
    puts("  --scratch DIR         existing directory for files ($TMPDIR or /tmp)");
    for (size_t i = 0; i < workload->option_count; i++)
        printf("  %s %-*s %s\n", workload->options[i].name, 20 - (int)strlen(workload->options[i].name),
               workload->options[i].value, workload->options[i].text);
    puts("  --describe            description for programs\n"
         "  --help                print this help\n\n"
         "examples:");
    if (workload->style == STYLE_LOOP)
        printf("  %s --tasks 2 --pin 0,1 --window-ms 1000\n"
               "  %s --variant %s --ops 1000\n",
               workload->name, workload->name, workload->variants[workload->variant_count - 1].name);
    else
        printf("  %s %s\n  %s %s\n", workload->name, workload->examples[0], workload->name, workload->examples[1]);
    puts("\nexit status: 0 done, 64 bad arguments, 69 unsupported here, 71 a system call failed");
    exit(0);
}
