/*
 * What a workload is to the harness, and what the harness offers a workload.
 *
 * A workload file defines one `const struct workload`. Everything that moves (tasks, barrier, clock, counters, output) is the
 * harness's; the workload only says what one operation is and how to do a batch of them.
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

/* Membership of a suite, with tasks of that mode. */
#define SUITE_BIT(suite, mode) (1u << (2 * (suite) + (mode)))
#define QUICK(mode) SUITE_BIT(SUITE_QUICK, mode)
#define FULL(mode) SUITE_BIT(SUITE_FULL, mode)

struct workload;
struct region;

struct variant {
    const char *name;
    const char *text;             /* what it does, one line for people */
    unsigned modes;               /* MODE_BITs of the modes it allows */
    enum task_mode default_mode;
    uint64_t default_size;        /* 0: the workload's */
    unsigned suites;              /* SUITE_BITs; 0 for what needs something of the user's */
};

/* One execution as it was asked for. Nothing changes it after the command line has been read. */
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
};

struct task_slot;

/* One task, as seen from inside it. */
struct task {
    const struct plan *plan;
    unsigned index;
    void *state;                  /* state_bytes of zeroed memory on pages of their own */
    struct task_slot *slot;       /* the harness's */
};

/* An option that only this workload knows. `set` returns NULL, or what is wrong with the value. */
struct workload_option {
    const char *name;             /* with its dashes */
    const char *value;            /* the value's name in the help */
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
    unsigned window_ms;           /* shortest window that makes sense */
    uint64_t default_size;        /* 0: --size has no meaning */
    const char *size_text;
    unsigned place;               /* among the workloads of the suite quick, the smallest first */
    uint64_t lens_operations;     /* usual number per task when the lens counts: enough that set-up does not show, little
                                     enough that a machine of 32 CPUs ends within minutes; 0: the lab's own */
    const struct variant *variants;
    size_t variant_count;         /* the first is the default */
    const struct workload_option *options;
    size_t option_count;
    bool takes_command;           /* accepts words after `--` */
    const char *examples[2];      /* STYLE_ONCE: arguments for the help */
    bool needs_scratch;
    size_t state_bytes;           /* size of task->state */

    /* Before anything is printed: NULL, or why these arguments make no sense (exit status 64). */
    const char *(*refuse)(const struct plan *plan);
    /* Bytes that one operation touches; absent when a rate in bytes says nothing. */
    uint64_t (*bytes_per_operation)(const struct plan *plan);
    /* In the coordinator, before any task exists: shared files and objects, checks, notes. Ends by failure_*() if it can't. */
    void (*prepare)(const struct plan *plan);

    /* In the task, before the barrier. */
    void (*setup)(struct task *task);
    /* Does at least one and at most `limit` operations (limit > 0), returns how many. Ends by task_fail() if it can't. */
    uint64_t (*batch)(struct task *task, uint64_t limit);
    /* In the task, after the window. */
    void (*teardown)(struct task *task);

    /*
     * For a task that gives up its own image: `become` replaces `batch`, does not return, and the task is ended by SIGKILL
     * (or ends itself with status 0 after plan->operations of them). `progress` says how far task `index` has come and
     * `become_errno` why it ended with a failure, both from outside.
     */
    void (*become)(struct task *task);
    uint64_t (*progress)(unsigned index);
    int (*become_errno)(unsigned index);

    /* STYLE_ONCE, in the coordinator: the whole region of interest. */
    void (*run)(const struct plan *plan);
    /* In the coordinator, after the end of the region: further measures and notes. */
    void (*conclude)(const struct plan *plan, const struct region *region);
};

/* Place of the plan's variant in the workload's list. */
static inline unsigned plan_variant(const struct plan *plan)
{
    return (unsigned)(plan->variant - plan->workload->variants);
}

#endif
