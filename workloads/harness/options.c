/* See options.h. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "clock.h"
#include "describe.h"
#include "ends.h"
#include "failure.h"

enum { DEFAULT_WARMUP_MS = 200, DEFAULT_WINDOW_MS = 1000, DEFAULT_INTERVAL_MS = 100, CPU_NUMBER_MAX = 65535 };

#define DURATION_MAX_MS UINT64_C(86400000)
#define OPERATIONS_MAX (UINT64_C(1) << 62)

static const char *const see_help = "run with --help to see the options";

/* Parses a decimal number from `text` that ends at a NUL or at `stop`. Stores its end in *end. */
static bool read_number(const char *text, char stop, uint64_t minimum, uint64_t maximum, uint64_t *number, const char **end)
{
    if (*text < '0' || *text > '9')
        return false;
    char *rest;
    errno = 0;
    unsigned long long value = strtoull(text, &rest, 10);
    if (errno != 0 || (*rest != '\0' && *rest != stop) || value < minimum || value > maximum)
        return false;
    *number = value;
    *end = rest;
    return true;
}

static uint64_t number_option(const char *name, const char *value, uint64_t minimum, uint64_t maximum)
{
    uint64_t number;
    const char *end;
    if (!read_number(value, '\0', minimum, maximum, &number, &end)) {
        char hint[128];
        snprintf(hint, sizeof hint, "%s takes a whole number from %llu to %llu", name, (unsigned long long)minimum,
                 (unsigned long long)maximum);
        failure_arguments(hint, "bad value for %s: '%s'", name, value);
    }
    return number;
}

static const struct variant *variant_option(const struct workload *workload, const char *name)
{
    char names[256];
    size_t length = 0;
    names[0] = '\0';
    for (size_t i = 0; i < workload->variant_count; i++) {
        if (strcmp(workload->variants[i].name, name) == 0)
            return &workload->variants[i];
        if (length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s %s", i == 0 ? "" : ",",
                                       workload->variants[i].name);
    }
    char hint[300];
    snprintf(hint, sizeof hint, "%s has:%s", workload->name, names);
    failure_arguments(hint, "%s has no variant '%s'", workload->name, name);
}

static enum task_mode mode_option(const char *value)
{
    if (strcmp(value, "process") == 0)
        return MODE_PROCESS;
    if (strcmp(value, "thread") == 0)
        return MODE_THREAD;
    failure_arguments("--mode takes process or thread", "bad value for --mode: '%s'", value);
}

static void pin_option(struct plan *plan, const char *value)
{
    plan->pin_count = 0;
    if (strcmp(value, "none") == 0)
        return;
    unsigned *cpus = malloc((strlen(value) / 2 + 1) * sizeof *cpus);
    if (cpus == NULL)
        failure_arguments("give a shorter list", "no memory for the list of CPUs");
    const char *rest = value;
    for (;;) {
        uint64_t cpu;
        if (!read_number(rest, ',', 0, CPU_NUMBER_MAX, &cpu, &rest))
            failure_arguments("--pin takes 'none' or comma-separated CPU numbers, as in 0,2,4", "bad value for --pin: '%s'",
                              value);
        cpus[plan->pin_count++] = (unsigned)cpu;
        if (*rest == '\0')
            break;
        rest++;
    }
    plan->pin = cpus;
}

static void scratch_option(struct plan *plan, const char *value)
{
    struct stat status;
    if (stat(value, &status) != 0 || !S_ISDIR(status.st_mode))
        failure_arguments("--scratch takes an existing directory", "'%s' is not a directory", value);
    plan->scratch_parent = value;
}

static const char *addresses_option(const char *name, const char *value)
{
    union socket_address address;
    if (address_read(value, AF_UNSPEC, &address))
        return value;
    failure_arguments("addresses are written as in 198.18.0.1,2001:2::1", "bad value for %s: '%s'", name, value);
}

/* --far ROLE=ADDRESSES: addresses of a partner in that role. */
static void far_option(struct plan *plan, const char *name, const char *value)
{
    const char *addresses = strchr(value, '=');
    size_t length = addresses != NULL ? (size_t)(addresses - value) : 0;
    if (length == strlen(ROLE_RECEIVER) && strncmp(value, ROLE_RECEIVER, length) == 0)
        plan->receiver = addresses_option(name, addresses + 1);
    else if (length == strlen(ROLE_FORWARDER) && strncmp(value, ROLE_FORWARDER, length) == 0)
        plan->forwarder = addresses_option(name, addresses + 1);
    else
        failure_arguments("--far takes receiver=ADDRESSES or forwarder=ADDRESSES", "bad value for --far: '%s'", value);
}

/* Options of executions that have partners or are one. Returns false for any other option. */
static bool ends_option(struct plan *plan, const char *name, const char *value)
{
    if (!plan->workload->uses_network)
        return false;
    if (strcmp(name, "--at") == 0) {
        plan->at = addresses_option(name, value);
    } else if (strcmp(name, "--far") == 0) {
        far_option(plan, name, value);
    } else if (strcmp(name, "--role") == 0) {
        if (strcmp(value, ROLE_RECEIVER) != 0 && strcmp(value, ROLE_FORWARDER) != 0)
            failure_arguments("--role takes receiver or forwarder", "bad value for --role: '%s'", value);
        plan->role = value;
    } else {
        return false;
    }
    return true;
}

static bool is_token(const char *text)
{
    return text != NULL && strlen(text) == ENDS_TOKEN_BYTES && strspn(text, "0123456789abcdef") == ENDS_TOKEN_BYTES;
}

/* True if programs on other systems may reach one of these addresses. */
static bool is_exposed(const char *list)
{
    static const int families[] = {AF_INET, AF_INET6};
    union socket_address address;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (address_read(list, families[i], &address) && !address_is_loopback(&address))
            return true;
    return false;
}

/* On the loopback device, executions without a token share a common one. */
static void settle_token(struct plan *plan)
{
    static const char none[ENDS_TOKEN_BYTES + 1] = "00000000000000000000000000000000";
    const char *given = getenv(ENDS_TOKEN);
    if (given != NULL && !is_token(given))
        failure_arguments("it takes 32 hexadecimal digits: openssl rand -hex 16", "bad value of " ENDS_TOKEN);
    plan->token = given != NULL ? given : none;
    if (given == NULL && plan->at != NULL && is_exposed(plan->at))
        failure_arguments("both ends need the same: " ENDS_TOKEN "=$(openssl rand -hex 16)",
                          "--at %s is not on the loopback device, and there is no " ENDS_TOKEN, plan->at);
}

static bool workload_option(const struct workload *workload, const char *name, const char *value)
{
    for (size_t i = 0; i < workload->option_count; i++) {
        const struct workload_option *option = &workload->options[i];
        if (strcmp(option->name, name) != 0)
            continue;
        const char *wrong = option->set(value);
        if (wrong != NULL)
            failure_arguments(see_help, "bad value for %s: '%s': %s", name, value, wrong);
        return true;
    }
    return false;
}

/* Values as given on the command line; durations of 0 and a mode below 0 mean "not given". */
struct given {
    int mode;
    uint64_t warmup_ms;
    uint64_t window_ms;
    uint64_t interval_ms;
};

static void read_option(struct plan *plan, struct given *given, const char *name, const char *value)
{
    const struct workload *workload = plan->workload;
    if (strcmp(name, "--variant") == 0)
        plan->variant = variant_option(workload, value);
    else if (strcmp(name, "--tasks") == 0)
        plan->tasks = (unsigned)number_option(name, value, 1, TASKS_MAX);
    else if (strcmp(name, "--mode") == 0)
        given->mode = (int)mode_option(value);
    else if (strcmp(name, "--pin") == 0)
        pin_option(plan, value);
    else if (strcmp(name, "--warmup-ms") == 0)
        given->warmup_ms = number_option(name, value, 0, DURATION_MAX_MS);
    else if (strcmp(name, "--window-ms") == 0)
        given->window_ms = number_option(name, value, 1, DURATION_MAX_MS);
    else if (strcmp(name, "--interval-ms") == 0)
        given->interval_ms = number_option(name, value, 1, DURATION_MAX_MS);
    else if (strcmp(name, "--ops") == 0)
        plan->operations = number_option(name, value, 1, OPERATIONS_MAX);
    else if (strcmp(name, "--size") == 0 && workload->default_size > 0)
        plan->size = number_option(name, value, 1, SIZE_MAX_BYTES);
    else if (strcmp(name, "--size") == 0)
        failure_arguments(see_help, "--size has no meaning for %s", workload->name);
    else if (strcmp(name, "--scratch") == 0)
        scratch_option(plan, value);
    else if (!ends_option(plan, name, value) && !workload_option(workload, name, value))
        failure_arguments(see_help, "unknown option '%s'", name);
}

static void settle_mode(struct plan *plan, int given_mode)
{
    plan->mode = given_mode < 0 ? plan->variant->default_mode : (enum task_mode)given_mode;
    if ((plan->variant->modes & MODE_BIT(plan->mode)) == 0)
        failure_arguments("run with --describe to see the modes of each variant", "variant %s of %s does not run as %s",
                          plan->variant->name, plan->workload->name, plan->mode == MODE_THREAD ? "threads" : "processes");
}

static void settle_times(struct plan *plan, const struct given *given)
{
    uint64_t window_ms = given->window_ms;
    if (window_ms == 0)
        window_ms = plan->workload->window_ms > DEFAULT_WINDOW_MS ? plan->workload->window_ms : DEFAULT_WINDOW_MS;
    uint64_t interval_ms = given->interval_ms;
    if (interval_ms == 0)
        interval_ms = window_ms < DEFAULT_INTERVAL_MS ? window_ms : DEFAULT_INTERVAL_MS;
    if (interval_ms > window_ms)
        failure_arguments("--interval-ms must not be longer than --window-ms",
                          "an interval of %llu ms does not fit into a window of %llu ms", (unsigned long long)interval_ms,
                          (unsigned long long)window_ms);
    plan->warmup_ns = given->warmup_ms * NS_PER_MS;
    plan->window_ns = window_ms * NS_PER_MS;
    plan->interval_ns = interval_ms * NS_PER_MS;
}

static void check_size(const struct plan *plan)
{
    if (plan->workload->default_size == 0)
        return;
    uint64_t least = describe_least_size(plan), most = describe_most_size(plan->workload);
    if (plan->size >= least && plan->size <= most)
        return;
    char hint[128];
    snprintf(hint, sizeof hint, "%s:%s takes sizes from %llu to %llu", plan->workload->name, plan->variant->name,
             (unsigned long long)least, (unsigned long long)most);
    failure_arguments(hint, "a --size of %llu is too %s", (unsigned long long)plan->size,
                      plan->size < least ? "small" : "large");
}

static const char *default_scratch(void)
{
    const char *directory = getenv("TMPDIR");
    return directory != NULL && *directory != '\0' ? directory : "/tmp";
}

struct plan options_read(const struct workload *workload, int argc, char **argv)
{
    struct plan plan = {
        .workload = workload,
        .variant = &workload->variants[0],
        .tasks = 1,
        .program = argv[0],
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
    };
    struct given given = {.mode = -1, .warmup_ms = DEFAULT_WARMUP_MS};

    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0)
            describe_help(workload);
        if (strcmp(argv[i], "--describe") == 0)
            describe_print(workload);
        if (strcmp(argv[i], "--") == 0 && workload->takes_command) {
            plan.command = i + 1 < argc ? argv + i + 1 : NULL;
            break;
        }
        if (strncmp(argv[i], "--", 2) != 0)
            failure_arguments(see_help, "unexpected argument '%s'", argv[i]);
        if (i + 1 == argc)
            failure_arguments(see_help, "unknown option, or option without its value: '%s'", argv[i]);
        read_option(&plan, &given, argv[i], argv[i + 1]);
    }
    settle_mode(&plan, given.mode);
    settle_times(&plan, &given);
    if (plan.size == 0)
        plan.size = plan.variant->default_size > 0 ? plan.variant->default_size : workload->default_size;
    if (plan.scratch_parent == NULL)
        scratch_option(&plan, default_scratch());
    check_size(&plan);
    if (workload->uses_network)
        settle_token(&plan);
    const char *refusal = workload->refuse != NULL ? workload->refuse(&plan) : NULL;
    if (refusal != NULL)
        failure_arguments(see_help, "%s", refusal);
    return plan;
}
