/* The agent as the first process of a guest under our own kernel. Linux only. */
#ifndef FIRST_PROCESS_H
#define FIRST_PROCESS_H

/*
 * Mounts what programs need, executes the plan, reports over the channel, and switches the machine
 * off. Returns only on failure, after a message on standard error: the exit status.
 */
int first_process(void);

#endif
