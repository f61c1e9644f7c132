/*
 * Mappings of code by processes, and the number of processes: the data that names of their
 * addresses need.
 *
 * The kernel reports them by records of its performance events, as for `perf record`. Programs are
 * not traced and run as usual. The events belong to CPUs and not to processes, so switching between
 * processes costs nothing more.
 */
#ifndef MAPPINGS_H
#define MAPPINGS_H

/*
 * Starts watching. If the kernel lacks such events, sends `no-maps` with the reason, and no frames
 * later.
 */
void mappings_watch(void);

/* Sends a `map` frame for each mapping since the last call. */
void mappings_send(void);

/*
 * Sends `processes`, the number of processes that were forked since the watch began, and ends the
 * watch.
 */
void mappings_end(void);

/*
 * Sends a `generated` frame for each function that programs generated at run time and wrote to
 * /tmp/perf-PID.map, as just-in-time compilers do for perf. Malformed lines are skipped.
 */
void generated_send(void);

#endif
