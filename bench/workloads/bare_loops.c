/*
 * The list of bare loops, each with the variant of the workload that it is compared with.
 *
 * Four loops are missing. The time of relay depends most on the process at its ends (with two of
 * them it took 2.3 times as long). protect_churn as processes, map_churn as threads, and tcp_stream
 * sending took 8 % longer, 5 % less, and 18 % longer (sender's CPU time) under the harness than
 * bare, for unknown reasons. (The time of an mprotect is known to depend on the number of other
 * mappings of the process. On the loopback device, each end of a TCP connection does part of the
 * other's work, depending on which runs when.) The bare loop of protect_churn as threads needs no
 * second thread, because with one task no other running thread shares the address space.
 */
#include "bare.h"

#include <stdio.h>
#include <unistd.h>

const struct bare_loop bare_loops[] = {
    {"zero_fill", "base", bare_nothing_setup, bare_zero_fill_base},
    {"zero_fill", "huge", bare_nothing_setup, bare_zero_fill_huge},
    {"fault_existing", "shared", bare_object_setup, bare_fault_read},
    {"fault_existing", "shared-write", bare_object_setup, bare_fault_write},
    {"fault_existing", "own", bare_object_setup, bare_fault_read},
    {"fault_existing", "own-write", bare_object_setup, bare_fault_write},
    {"file_cow", "same", bare_file_setup, bare_file_cow},
    {"file_cow", "own", bare_file_setup, bare_file_cow},
    {"path_stat", "distinct", bare_stat_one_setup, bare_stat},
    {"path_stat", "shared-dir", bare_stat_two_setup, bare_stat},
    {"path_stat", "deep", bare_stat_deep_setup, bare_stat},
    {"fork_exit", "small", bare_nothing_setup, bare_fork},
    {"fork_exit", "large", bare_large_setup, bare_fork},
    {"map_churn", "processes", bare_nothing_setup, bare_map},
    {"protect_churn", "threads", bare_protect_setup, bare_protect},
    {"udp_send", "loop", bare_udp_setup, bare_udp_loop},
    {"udp_send", "write", bare_udp_setup, bare_udp_write},
    {"udp_send", "clock", bare_udp_setup, bare_udp_clock},
    {"udp_send", "select", bare_udp_setup, bare_udp_select},
    {"udp_stream", "ipv4", bare_udp_stream_setup, bare_udp_write},
    {"tcp_stream", "receive", bare_tcp_receive_setup, bare_tcp_receive},
    {"tcp_connect", "ipv4", bare_connect_setup, bare_connect},
    {"tcp_rr", "ipv4", bare_tcp_rr_setup, bare_rr},
    {"udp_rr", "ipv4", bare_udp_rr_setup, bare_rr},
};

const size_t bare_loop_count = sizeof bare_loops / sizeof bare_loops[0];

void bare_fail(const char *step)
{
    perror(step);
    _exit(71);
}

void bare_nothing_setup(const struct bare_conditions *conditions)
{
    (void)conditions;
}
