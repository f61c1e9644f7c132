/* The command line: reads it into a plan, or ends with status 64, one line and a hint. */
#ifndef FAULTLINE_OPTIONS_H
#define FAULTLINE_OPTIONS_H

#include "workload.h"

enum { TASKS_MAX = 4096 };

/* Answers --help and --describe by itself and exits. */
struct plan options_read(const struct workload *workload, int argc, char **argv);

#endif
