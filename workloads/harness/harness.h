/* The main function of every workload program. */
#ifndef FAULTLINE_HARNESS_H
#define FAULTLINE_HARNESS_H

#include "workload.h"

/* Parses the command line, executes, prints. Returns the exit status. Call it once per process. */
int harness_main(const struct workload *workload, int argc, char **argv);

#endif
