/*
 * The functions that programs generated while they ran, and wrote into /tmp/perf-PID.map, as just-in-time compilers do for perf.
 */
#ifndef GENERATED_H
#define GENERATED_H

/* Sends a `generated` frame for each line of these files that is one of their format. */
void generated_send(void);

#endif
