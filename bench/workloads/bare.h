/*
 * The workloads' loops without the harness: system calls and a local counter.
 *
 * Each does the same work on the same set-up as the workload of the same name, with one task. It
 * was written independently of the harness's interfaces, so that the cost of the harness shows as a
 * difference.
 */
#ifndef FAULTLINE_BENCH_BARE_H
#define FAULTLINE_BENCH_BARE_H

#include <stddef.h>
#include <stdint.h>

struct bare_conditions {
    uint64_t size;  /* as the workload's --size */
    size_t page_bytes;
};

struct bare_loop {
    const char *workload;
    const char *variant;
    /* In a fresh process, in an empty current directory. Ends the process on failure. */
    void (*setup)(const struct bare_conditions *conditions);
    /* Does at least this many operations, and returns their number. */
    uint64_t (*run)(const struct bare_conditions *conditions, uint64_t operations);
};

extern const struct bare_loop bare_loops[];
extern const size_t bare_loop_count;

/* Prints the failed step, and ends the process. */
_Noreturn void bare_fail(const char *step);

uint64_t bare_zero_fill_base(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_zero_fill_huge(const struct bare_conditions *conditions, uint64_t operations);
void bare_object_setup(const struct bare_conditions *conditions);
uint64_t bare_fault_read(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_fault_write(const struct bare_conditions *conditions, uint64_t operations);
void bare_file_setup(const struct bare_conditions *conditions);
uint64_t bare_file_cow(const struct bare_conditions *conditions, uint64_t operations);
void bare_stat_one_setup(const struct bare_conditions *conditions);
void bare_stat_two_setup(const struct bare_conditions *conditions);
void bare_stat_deep_setup(const struct bare_conditions *conditions);
uint64_t bare_stat(const struct bare_conditions *conditions, uint64_t operations);
void bare_nothing_setup(const struct bare_conditions *conditions);
void bare_large_setup(const struct bare_conditions *conditions);
uint64_t bare_fork(const struct bare_conditions *conditions, uint64_t operations);
void bare_protect_setup(const struct bare_conditions *conditions);
uint64_t bare_protect(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_map(const struct bare_conditions *conditions, uint64_t operations);
void bare_udp_setup(const struct bare_conditions *conditions);
uint64_t bare_udp_loop(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_udp_write(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_udp_clock(const struct bare_conditions *conditions, uint64_t operations);
uint64_t bare_udp_select(const struct bare_conditions *conditions, uint64_t operations);
void bare_udp_stream_setup(const struct bare_conditions *conditions);
void bare_tcp_receive_setup(const struct bare_conditions *conditions);
uint64_t bare_tcp_receive(const struct bare_conditions *conditions, uint64_t operations);
void bare_connect_setup(const struct bare_conditions *conditions);
uint64_t bare_connect(const struct bare_conditions *conditions, uint64_t operations);
void bare_tcp_rr_setup(const struct bare_conditions *conditions);
void bare_udp_rr_setup(const struct bare_conditions *conditions);
uint64_t bare_rr(const struct bare_conditions *conditions, uint64_t operations);

#endif
