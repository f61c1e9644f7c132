/* See side.h. */
#include "side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/harness.h"
#include "harness/lifetime.h"
#include "harness/pin.h"
#include "harness/usage.h"

enum { TIME_LIMIT_S = 60, LINE_BYTES = 65536, PATH_BYTES = 4096, NUMBER_BYTES = 24 };

/*
 * Arguments that run this program as a side: `side harness WORKLOAD ARG…` and `side bare` with
 * these.
 */
enum { BARE_INDEX = 3, BARE_CPU, BARE_OPERATIONS, BARE_SIZE, BARE_DIRECTORY, BARE_ARGUMENTS };

static char *program;

/* ---- in a side ---- */

static uint64_t cpu_now_ns(void)
{
    struct usage usage = usage_sum(usage_of(RUSAGE_SELF), usage_of(RUSAGE_CHILDREN));
    return usage.user_ns + usage.system_ns;
}

/* Prints `OPERATIONS CPU_NANOSECONDS WALL_NANOSECONDS`. */
static void measure_bare(char **argv)
{
    const struct bare_loop *loop = &bare_loops[strtoul(argv[BARE_INDEX], NULL, 10)];
    uint64_t operations = strtoull(argv[BARE_OPERATIONS], NULL, 10);
    const struct bare_conditions conditions = {
        .size = strtoull(argv[BARE_SIZE], NULL, 10),
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
    };
    if (mkdir(argv[BARE_DIRECTORY], 0700) != 0 || chdir(argv[BARE_DIRECTORY]) != 0)
        bare_fail("directory");
    loop->setup(&conditions);
    loop->run(&conditions, operations / 3 + 1);
    uint64_t cpu_begin_ns = cpu_now_ns();
    uint64_t begin_ns = clock_now_ns();
    uint64_t done = loop->run(&conditions, operations);
    uint64_t end_ns = clock_now_ns();
    uint64_t cpu_end_ns = cpu_now_ns();
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", done, cpu_end_ns - cpu_begin_ns, end_ns - begin_ns);
    fflush(stdout);
}

static int be_bare(char **argv)
{
    clock_start();
    /*
     * Before the fork, as in the harness, so that the child's address space is never used on
     * another CPU.
     */
    unsigned cpu = (unsigned)strtoul(argv[BARE_CPU], NULL, 10);
    errno = pin_self(&cpu, 1);
    if (errno != 0)
        bare_fail("pin");
    pid_t child = fork();
    if (child < 0)
        bare_fail("fork");
    if (child == 0) {
        alarm(TIME_LIMIT_S);
        measure_bare(argv);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        bare_fail("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void side_main(int argc, char **argv, const struct workload *(*workload_named)(const char *name))
{
    program = argv[0];
    if (argc < 4 || strcmp(argv[1], "side") != 0)
        return;
    alarm(TIME_LIMIT_S);
    if (strcmp(argv[2], "bare") == 0)
        exit(argc == BARE_ARGUMENTS ? be_bare(argv) : 64);
    exit(harness_main(workload_named(argv[3]), argc - 3, argv + 3));
}

/* ---- in the bench ---- */

/* Starts this program again, with its standard output through *output. */
static pid_t start_side(char *const *arguments, FILE **output)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, arguments);
        bare_fail(program);
    }
    close(ends[1]);
    *output = child > 0 ? fdopen(ends[0], "r") : NULL;
    return *output != NULL ? child : -1;
}

static bool ended_well(pid_t child, FILE *output)
{
    int status;
    fclose(output);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static pid_t start_harness(const struct workload *workload, const char *variant, unsigned cpu, unsigned window_ms,
                           FILE **output)
{
    char text[6][PATH_BYTES];
    snprintf(text[0], PATH_BYTES, "%s", workload->name);
    snprintf(text[1], PATH_BYTES, "%s", variant);
    snprintf(text[2], PATH_BYTES, "%u", cpu);
    snprintf(text[3], PATH_BYTES, "%u", window_ms / 3);
    snprintf(text[4], PATH_BYTES, "%u", window_ms);
    snprintf(text[5], PATH_BYTES, "%s", lifetime_scratch());
    char *arguments[] = {program,       "side",  "harness",     text[0], "--variant",     text[1], "--pin",     text[2],
                         "--warmup-ms", text[3], "--window-ms", text[4], "--interval-ms", text[4], "--scratch", text[5],
                         NULL};
    return start_side(arguments, output);
}

enum side_outcome side_harness(const struct workload *workload, const char *variant, unsigned cpu, unsigned window_ms,
                  struct side_result *result)
{
    FILE *output;
    pid_t child = start_harness(workload, variant, cpu, window_ms, &output);
    if (child < 0)
        return SIDE_FAILED;
    static char line[LINE_BYTES];
    uint64_t elapsed_ns = 0;
    uint64_t user_ns = 0;
    uint64_t system_ns = 0;
    uint64_t usage_operations = 0;
    *result = (struct side_result){0};
    while (fgets(line, sizeof line, output) != NULL) {
        uint64_t from_ns;
        uint64_t to_ns;
        uint64_t operations;
        if (sscanf(line, "interval %" SCNu64 " %" SCNu64 " %" SCNu64, &from_ns, &to_ns, &operations) == 3) {
            elapsed_ns += to_ns - from_ns;
            result->operations += operations;
        } else {
            sscanf(line, "note usage_operations %" SCNu64, &usage_operations);
            sscanf(line, "usage window user_ns=%" SCNu64 " system_ns=%" SCNu64, &user_ns, &system_ns);
        }
    }
    if (!ended_well(child, output))
        return SIDE_FAILED;
    if (result->operations == 0 || usage_operations == 0)
        return SIDE_STARVED;
    result->cpu_ns = (double)(user_ns + system_ns) / (double)usage_operations;
    result->wall_ns = (double)elapsed_ns / (double)result->operations;
    return SIDE_MEASURED;
}

static pid_t start_bare(size_t index, const struct bare_conditions *conditions, unsigned cpu, uint64_t operations,
                        FILE **output)
{
    static unsigned number; /* names the directory of each bare process */
    char text[4][NUMBER_BYTES];
    char directory[PATH_BYTES];
    snprintf(text[0], NUMBER_BYTES, "%zu", index);
    snprintf(text[1], NUMBER_BYTES, "%u", cpu);
    snprintf(text[2], NUMBER_BYTES, "%" PRIu64, operations);
    snprintf(text[3], NUMBER_BYTES, "%" PRIu64, conditions->size);
    snprintf(directory, sizeof directory, "%s/bare-%u", lifetime_scratch(), ++number);
    char *arguments[] = {program, "side", "bare", text[0], text[1], text[2], text[3], directory, NULL};
    return start_side(arguments, output);
}

enum side_outcome side_bare(size_t index, const struct bare_conditions *conditions, unsigned cpu, uint64_t operations,
               struct side_result *result)
{
    FILE *output;
    pid_t child = start_bare(index, conditions, cpu, operations, &output);
    if (child < 0)
        return SIDE_FAILED;
    uint64_t elapsed_ns = 0;
    uint64_t cpu_ns = 0;
    *result = (struct side_result){0};
    bool read = fscanf(output, "%" SCNu64 " %" SCNu64 " %" SCNu64, &result->operations, &cpu_ns, &elapsed_ns) == 3;
    if (!ended_well(child, output) || !read || result->operations == 0)
        return SIDE_FAILED;
    result->cpu_ns = (double)cpu_ns / (double)result->operations;
    result->wall_ns = (double)elapsed_ns / (double)result->operations;
    return SIDE_MEASURED;
}
