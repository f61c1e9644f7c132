/*
 * Written by the program that execs itself to the descriptor that it inherits, and read by the
 * coordinator.
 */
#ifndef FAULTLINE_SELF_EXEC_RECORD_H
#define FAULTLINE_SELF_EXEC_RECORD_H

#include <stdint.h>

struct self_exec_record {
    uint64_t count;  /* number of execs so far; 8 bytes at once, so never seen half-written */
    uint64_t error;  /* errno of the failed exec; 0 if none has failed */
};

#endif
