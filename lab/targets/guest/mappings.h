/*
 * Which files' code processes map, and how many processes there are: what names for their addresses need.
 *
 * The kernel tells it by records of its performance events, as it tells `perf record`. Nothing is traced: programs run as
 * they do without it. The events belong to CPUs and not to processes, so switching between processes costs nothing more.
 */
#ifndef MAPPINGS_H
#define MAPPINGS_H

/* Begins to watch. When the kernel has no such events, `no-maps` says why, and nothing is sent later. */
void mappings_watch(void);

/* Sends a `map` frame for each piece of code that was mapped since the last call. */
void mappings_send(void);

/* Sends `processes`, the number of processes that were forked since the watch began, and ends the watch. */
void mappings_end(void);

#endif
