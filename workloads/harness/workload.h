/*
 * The interface between a workload and the harness.
 *
 * A workload file defines one `const struct workload`. The harness does everything else (tasks,
 * barrier, clock, counters, output). The workload only defines one operation, and a batch of them.
 */
#ifndef FAULTLINE_WORKLOAD_H
#define FAULTLINE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum task_mode { MODE_PROCESS, MODE_THREAD };

#define MODE_BIT(mode) (1u << (mode))
#define MODES_BOTH (MODE_BIT(MODE_PROCESS) | MODE_BIT(MODE_THREAD))

enum style { STYLE_LOOP, STYLE_ONCE };

enum suite { SUITE_QUICK, SUITE_FULL, SUITE_COUNT };

/* Membership in a suite, with tasks in that mode. */
#define SUITE_BIT(suite, mode) (1u << (2 * (suite) + (mode)))
#define QUICK(mode) SUITE_BIT(SUITE_QUICK, mode)
#define FULL(mode) SUITE_BIT(SUITE_FULL, mode)

/* Memory that holds --size bytes while tasks run. */
enum size_memory { SIZE_IN_NONE, SIZE_IN_ONE_PLACE, SIZE_IN_EACH_TASK };

/* Roles of partners. */
#define ROLE_RECEIVER "receiver"
#define ROLE_FORWARDER "forwarder"

/* Largest --size of a workload without `most_size`. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 44)

struct workload;
struct region;

struct variant {
    const char *name;
    const char *text;             /* description, one line for people */
    unsigned modes;               /* MODE_BITs of the modes it allows */
    enum task_mode default_mode;
    uint64_t default_size;        /* 0: that of the workload */
    unsigned suites;              /* SUITE_BITs; 0 if the variant needs input from the user */
};

/* The request for one execution. It does not change after the command line has been parsed. */
struct plan {
    const struct workload *workload;
    const struct variant *variant;
    unsigned tasks;
    enum task_mode mode;
    const unsigned *pin;          /* CPU numbers; task i runs on pin[i % pin_count] */
    size_t pin_count;             /* 0: the kernel places tasks */
    uint64_t warmup_ns;
    uint64_t window_ns;
    uint64_t interval_ns;
    uint64_t operations;          /* per task; 0: count over the window instead */
    uint64_t size;                /* the workload's --size */
    const char *scratch_parent;   /* existing directory */
    const char *program;          /* argv[0] */
    char **command;               /* words after `--`, NULL-terminated; NULL when there are none */
    size_t page_bytes;
    const char *role;             /* role of this execution for a measured one; NULL: it is the measured one */
    const char *at;               /* addresses of this end (address.h); NULL: those of the loopback device */
    const char *receiver;         /* addresses of the partner with the peers of all tasks; NULL: peers run here */
    const char *forwarder;        /* addresses of the partner between both; NULL: there is none */
    const char *token;            /* equal at all ends (ends.h); NULL if the workload does not use the network */
};

struct task_slot;

/* One task, as seen from inside it. */
struct task {
    const struct plan *plan;
    unsigned index;
    void *state;                  /* state_bytes of zeroed memory on pages of their own */
    struct task_slot *slot;       /* for the harness only */
};

/* An option of this workload only. `set` returns NULL, or the reason why the value is invalid. */
struct workload_option {
    const char *name;             /* including its dashes */
    const char *value;            /* name of the value in the help */
    const char *text;
    const char *(*set)(const char *value);
};

struct workload {
    const char *name;
    const char *summary;
    const char *operation;        /* noun */
    const char *unit;
    bool lower_is_better;
    enum style style;
    unsigned window_ms;           /* shortest useful window */
    uint64_t default_size;        /* 0: --size has no meaning */
    const char *size_text;
    uint64_t most_size;           /* 0: SIZE_MAX_BYTES */
    /* Smallest --size of the plan's variant. Absent: 1. */
    uint64_t (*least_size)(const struct plan *plan);
    /* Absent: SIZE_IN_NONE. */
    enum size_memory (*size_memory)(const struct plan *plan);
    unsigned place;               /* rank among the workloads of the suite quick, smallest first */
    uint64_t lens_operations;     /* default per task under the lens: enough to hide set-up, few enough for a machine of
                                     32 CPUs to finish within minutes; 0: the lab's default */
    /*
     * Default of the plan's variant, if its operations are far larger. Absent, or 0: that of the
     * workload.
     */
    uint64_t (*variant_lens_operations)(const struct plan *plan);
    const struct variant *variants;
    size_t variant_count;         /* the first is the default */
    const struct workload_option *options;
    size_t option_count;
    bool takes_command;           /* accepts words after `--` */
    const char *examples[2];      /* STYLE_ONCE: arguments for the help */
    bool needs_scratch;
    bool uses_network;            /* the network's counters are read too; receiver and forwarder are allowed */
    size_t state_bytes;           /* size of task->state */

    /*
     * Before any output: returns NULL, or the reason why these arguments are invalid (exit status
     * 64).
     */
    const char *(*refuse)(const struct plan *plan);
    /* Bytes touched by one operation. Absent, or 0, if a rate in bytes has no meaning. */
    uint64_t (*bytes_per_operation)(const struct plan *plan);
    /*
     * In the coordinator, before any task exists: shared files and objects, checks, notes. Exits by
     * failure_*() on failure.
     */
    void (*prepare)(const struct plan *plan);

    /* In the task, before the barrier. */
    void (*setup)(struct task *task);
    /*
     * Does at least one and at most `limit` operations (limit > 0), and returns their number. Exits
     * by task_fail() on failure.
     */
    uint64_t (*batch)(struct task *task, uint64_t limit);
    /* In the task, after the window. */
    void (*teardown)(struct task *task);
    /*
     * For a task with another end: a separate process for each task, on the task's CPU. It sets up,
     * calls peer_ready() before any task exists, and serves until it is killed, after the tasks
     * have ended. Does not return.
     */
    void (*peer)(struct task *peer);
    bool needs_no_peer_here;      /* tasks have peers only at another end */
    /* In the coordinator of the peers: their count, which is sent to the partner. Absent: 0. */
    uint64_t (*peer_count)(const struct plan *plan);

    /*
     * For a task that replaces its own program image: `become` replaces `batch` and does not
     * return. SIGKILL ends the task (or it exits with status 0 after plan->operations operations).
     * From outside, `progress` returns the progress of task `index`, and `become_errno` the reason
     * why it failed.
     */
    void (*become)(struct task *task);
    uint64_t (*progress)(unsigned index);
    int (*become_errno)(unsigned index);

    /* STYLE_ONCE, in the coordinator: the whole region of interest. */
    void (*run)(const struct plan *plan);
    /*
     * In the coordinator, just before the region of interest begins and just after it has ended, to
     * read counts in memory shared with the tasks.
     */
    void (*at_begin)(const struct plan *plan);
    void (*at_end)(const struct plan *plan);
    /* In the coordinator, after the end of the region: further measures and notes. */
    void (*conclude)(const struct plan *plan, const struct region *region);
};

/* Index of the plan's variant in the workload's list. */
static inline unsigned plan_variant(const struct plan *plan)
{
    return (unsigned)(plan->variant - plan->workload->variants);
}

#endif
