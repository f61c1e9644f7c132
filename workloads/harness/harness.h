/* The whole of a workload program. */
#ifndef FAULTLINE_HARNESS_H
#define FAULTLINE_HARNESS_H

#include "workload.h"

/* Reads the command line, executes, prints; returns the exit status. Once per process. */
int harness_main(const struct workload *workload, int argc, char **argv);

#endif
