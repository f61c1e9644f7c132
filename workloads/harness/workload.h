/*
 * The interface between a workload and the harness.
 *
 * A workload file defines one `const struct workload`. The harness does everything else (tasks, barrier, clock,
 * counters, output). The workload only defines one operation, and how to do a batch of them.
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

/* Membership of a suite, with tasks in that mode. */
#define SUITE_BIT(suite, mode) (1u << (2 * (suite) + (mode)))
#define QUICK(mode) SUITE_BIT(SUITE_QUICK, mode)
#define FULL(mode) SUITE_BIT(SUITE_FULL, mode)

/* Memory in which --size bytes lie while tasks run. */
enum size_memory { SIZE_IN_NONE, SIZE_IN_ONE_PLACE, SIZE_IN_EACH_TASK };

/* Roles of partners. */
#define ROLE_RECEIVER "receiver"
#define ROLE_FORWARDER "forwarder"

/* Largest --size where a workload names no other. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 44)

struct workload;
struct region;

struct variant {
    const char *name;
    const char *text;             /* what it does, one line for people */
    unsigned modes;               /* MODE_BITs of the modes it allows */
    enum task_mode default_mode;
    uint64_t default_size;        /* 0: the workload's */
    unsigned suites;              /* SUITE_BITs; 0 if the variant needs something from the user */
};

/* The request for one execution. It does not change after the command line has been parsed. */
struct plan {
    const struct workload *workload;
    const struct variant *variant;
    unsigned tasks;
    enum task_mode mode;
    const unsigned *pin;          /* CPU numbers; task i runs on pin[i % pin_count] */
    size_t pin_count;             /* 0: tasks run where the kernel puts them */
    uint64_t warmup_ns;
    uint64_t window_ns;
    uint64_t interval_ns;
    uint64_t operations;          /* per task; 0: count over the window instead */
    uint64_t size;                /* what --size means to this workload */
    const char *scratch_parent;   /* existing directory */
    const char *program;          /* argv[0] */
    char **command;               /* words after `--`, NULL-terminated; NULL when there are none */
    size_t page_bytes;
    const char *role;             /* what this execution does for a measured one; NULL: it is the measured one */
    const char *at;               /* list of the addresses of this end (address.h); NULL: those of the loopback device */
    const char *receiver;         /* of the partner with the peers of all tasks; NULL: peers run here */
    const char *forwarder;        /* of the partner between both; NULL: there is none */
    const char *token;            /* the same at all ends (ends.h); NULL if the workload does not use the network */
};

struct task_slot;

/* One task, as seen from inside it. */
struct task {
    const struct plan *plan;
    unsigned index;
    void *state;                  /* state_bytes of zeroed memory on pages of their own */
    struct task_slot *slot;       /* for the harness only */
};

/* An option of this workload only. `set` returns NULL, or what is wrong with the value. */
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
    /* That of the plan's variant, if its operations are far larger. Absent, or 0: the workload's. */
    uint64_t (*variant_lens_operations)(const struct plan *plan);
    const struct variant *variants;
    size_t variant_count;         /* the first is the default */
    const struct workload_option *options;
    size_t option_count;
    bool takes_command;           /* accepts words after `--` */
    const char *examples[2];      /* STYLE_ONCE: arguments for the help */
    bool needs_scratch;
    bool uses_network;            /* the network's counters are read too; may have a receiver and a forwarder */
    size_t state_bytes;           /* size of task->state */

    /* Before anything is printed: returns NULL, or why these arguments are invalid (exit status 64). */
    const char *(*refuse)(const struct plan *plan);
    /* Bytes that one operation touches. Absent, or 0, if a rate in bytes has no meaning. */
    uint64_t (*bytes_per_operation)(const struct plan *plan);
    /*
     * In the coordinator, before any task exists: shared files and objects, checks, notes. Exits by failure_*() on
     * failure.
     */
    void (*prepare)(const struct plan *plan);

    /* In the task, before the barrier. */
    void (*setup)(struct task *task);
    /*
     * Does at least one and at most `limit` operations (limit > 0), and returns how many. Exits by task_fail() on
     * failure.
     */
    uint64_t (*batch)(struct task *task, uint64_t limit);
    /* In the task, after the window. */
    void (*teardown)(struct task *task);
    /*
     * For a task that has another end: a process of its own for each task, on the task's CPU. It sets up, calls
     * peer_ready() before any task exists, and serves until it is killed, after the tasks have ended. Does not return.
     */
    void (*peer)(struct task *peer);
    bool needs_no_peer_here;      /* tasks have peers only if these are at another end */
    /* In the coordinator of the peers: what they have counted; an end's partner is told. Absent: 0. */
    uint64_t (*peer_count)(const struct plan *plan);

    /*
     * For a task that replaces its own program image: `become` replaces `batch` and does not return. SIGKILL ends the
     * task (or it exits with status 0 after plan->operations operations). From outside, `progress` returns how far task
     * `index` has come, and `become_errno` why it failed.
     */
    void (*become)(struct task *task);
    uint64_t (*progress)(unsigned index);
    int (*become_errno)(unsigned index);

    /* STYLE_ONCE, in the coordinator: the whole region of interest. */
    void (*run)(const struct plan *plan);
    /*
     * In the coordinator, just before the region of interest begins and just after it has ended, to read what tasks
     * count in memory that they share with the coordinator.
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
