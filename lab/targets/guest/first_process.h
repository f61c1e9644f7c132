/* What the agent does as the first process of a guest under our own kernel. Linux alone. */
#ifndef FIRST_PROCESS_H
#define FIRST_PROCESS_H

/*
 * Mounts what programs need, does what the plan says, tells it all over the channel, and switches the machine off. Returns only when it can't: the exit
 * status, after it has said why on standard error.
 */
int first_process(void);

#endif
