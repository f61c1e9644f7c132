/*
 * Signals to the coordinator, and waiting.
 *
 * Signals are blocked except while the coordinator waits, so none is lost between a check and a
 * wait. SIGINT, SIGTERM and SIGHUP end the execution (tasks killed, scratch removed, then death by
 * that signal). SIGCHLD ends the wait, and is noted.
 */
#ifndef FAULTLINE_SIGNALS_H
#define FAULTLINE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

void signals_block(void);

/* In a new child: restores the signals to their state when the program started. */
void signals_restore(void);

/*
 * Waits until deadline_ns, a signal, or (if fd >= 0) until fd is readable. Does not return after a
 * terminating signal.
 */
void signals_wait(uint64_t deadline_ns, int fd);

/*
 * True if a child may have ended since the last call: SIGCHLD arrived during a wait. One signal may
 * stand for several children. The signal of a child that ends between two waits arrives during the
 * next one.
 */
bool signals_child_ended(void);

#endif
