/* The command line: parses it into a plan, or exits with status 64, one line and a hint. */
#ifndef FAULTLINE_OPTIONS_H
#define FAULTLINE_OPTIONS_H

#include "workload.h"

enum { TASKS_MAX = 4096 };

/* Handles --help and --describe itself, and exits. */
struct plan options_read(const struct workload *workload, int argc, char **argv);

#endif
