/* The event counters of the BSDs, read by sysctl; no network counters. */
#include "counters.h"

#if defined(__FreeBSD__) || defined(__DragonFly__) || defined(__OpenBSD__) || defined(__NetBSD__)

#include <string.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(__OpenBSD__) || defined(__NetBSD__)
#include <sys/sched.h>
#include <uvm/uvm_extern.h>
#endif

#include "clock.h"

static void add(struct counters *counters, const char *prefix, const char *name, uint64_t value)
{
    counters_add(counters, prefix, name, strlen(name), value);
}

static void add_times(struct counters *counters, const uint64_t *ticks, uint64_t hz, int user, int nice, int system,
                      int interrupt, int idle)
{
    if (hz == 0)
        return;
    uint64_t tick_ns = NS_PER_S / hz;
    add(counters, "stat.", "user_ns", (ticks[user] + ticks[nice]) * tick_ns);
    add(counters, "stat.", "system_ns", ticks[system] * tick_ns);
    add(counters, "stat.", "irq_ns", ticks[interrupt] * tick_ns);
    add(counters, "stat.", "idle_ns", ticks[idle] * tick_ns);
}

static uint64_t statistics_clock_hz(void)
{
    struct clockinfo clock;
    size_t bytes = sizeof clock;
    int name[] = {CTL_KERN, KERN_CLOCKRATE};
    if (sysctl(name, 2, &clock, &bytes, NULL, 0) != 0)
        return 0;
    return (uint64_t)(clock.stathz != 0 ? clock.stathz : clock.hz);
}

#if defined(__FreeBSD__) || defined(__DragonFly__)

/* States of kern.cp_time, in order (sys/resource.h, sys/kinfo.h). */
enum { CP_TIME_USER, CP_TIME_NICE, CP_TIME_SYSTEM, CP_TIME_INTERRUPT, CP_TIME_IDLE, CP_TIME_STATES };

const char *const counters_processes_name = "sysctl.vm.stats.vm.processes_started";

/* The width of a counter differs between releases: 4 or 8 bytes. */
static bool read_number(const char *name, uint64_t *value)
{
    union {
        uint32_t narrow;
        uint64_t wide;
    } number;
    size_t bytes = sizeof number;
    if (sysctlbyname(name, &number, &bytes, NULL, 0) != 0)
        return false;
    *value = bytes == sizeof number.narrow ? number.narrow : number.wide;
    return true;
}

void counters_read_system(struct counters *counters, bool with_network)
{
    (void)with_network;
    static const char *const names[] = {
        "vm.stats.sys.v_swtch",    "vm.stats.sys.v_trap",     "vm.stats.sys.v_syscall", "vm.stats.sys.v_intr",
        "vm.stats.sys.v_ipi",      "vm.stats.vm.v_vm_faults", "vm.stats.vm.v_io_faults", "vm.stats.vm.v_cow_faults",
        "vm.stats.vm.v_cow_optim", "vm.stats.vm.v_zfod",      "vm.stats.vm.v_ozfod",    "vm.stats.vm.v_tfree",
        "vm.stats.vm.v_forks",     "vm.stats.vm.v_vforks",    "vm.stats.vm.v_rforks",   "vm.stats.vm.v_vnodein",
        "vm.stats.vm.v_swapin",    "vm.stats.vm.v_swapout",   "vm.stats.vm.v_pdwakeups",
    };
    uint64_t started = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t value;
        if (!read_number(names[i], &value))
            continue;
        add(counters, "sysctl.", names[i], value);
        if (strstr(names[i], "forks") != NULL)
            started += value;
    }
    add(counters, "", counters_processes_name, started);

    long states[CP_TIME_STATES];
    size_t bytes = sizeof states;
    if (sysctlbyname("kern.cp_time", states, &bytes, NULL, 0) == 0 && bytes == sizeof states) {
        uint64_t ticks[CP_TIME_STATES];
        for (int i = 0; i < CP_TIME_STATES; i++)
            ticks[i] = (uint64_t)states[i];
        add_times(counters, ticks, statistics_clock_hz(), CP_TIME_USER, CP_TIME_NICE, CP_TIME_SYSTEM, CP_TIME_INTERRUPT,
                  CP_TIME_IDLE);
    }
}

#else

const char *const counters_processes_name = "sysctl.uvm.forks";

static void read_times(struct counters *counters)
{
#if defined(__NetBSD__)
    uint64_t ticks[CPUSTATES];
    int name[] = {CTL_KERN, KERN_CP_TIME};
    size_t bytes = sizeof ticks;
    if (sysctl(name, 2, ticks, &bytes, NULL, 0) != 0)
        return;
#else
    long states[CPUSTATES];
    uint64_t ticks[CPUSTATES];
    int name[] = {CTL_KERN, KERN_CPTIME};
    size_t bytes = sizeof states;
    if (sysctl(name, 2, states, &bytes, NULL, 0) != 0)
        return;
    for (int i = 0; i < CPUSTATES; i++)
        ticks[i] = (uint64_t)states[i];
#endif
    add_times(counters, ticks, statistics_clock_hz(), CP_USER, CP_NICE, CP_SYS, CP_INTR, CP_IDLE);
}

void counters_read_system(struct counters *counters, bool with_network)
{
    (void)with_network;
#if defined(__NetBSD__)
    struct uvmexp_sysctl uvm;
    int name[] = {CTL_VM, VM_UVMEXP2};
#else
    struct uvmexp uvm;
    int name[] = {CTL_VM, VM_UVMEXP};
#endif
    size_t bytes = sizeof uvm;
    read_times(counters);
    if (sysctl(name, 2, &uvm, &bytes, NULL, 0) != 0)
        return;
    /* OpenBSD keeps these as signed 32-bit numbers that wrap. */
#define ADD(field) add(counters, "sysctl.uvm.", #field, (uint64_t)uvm.field)
    ADD(faults);
    ADD(traps);
    ADD(intrs);
    ADD(swtch);
    ADD(softs);
    ADD(syscalls);
    ADD(pageins);
    ADD(forks);
    ADD(zeropages);
    ADD(fltnoram);
    ADD(fltpgwait);
    ADD(fltanget);
    ADD(fltamcopy);
    ADD(flt_acow);
    ADD(flt_anon);
    ADD(flt_obj);
    ADD(flt_prcopy);
    ADD(flt_przero);
#undef ADD
}

#endif

#endif
