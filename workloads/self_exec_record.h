/* What the program that execs itself writes to the descriptor that it inherits, and the coordinator reads. */
#ifndef FAULTLINE_SELF_EXEC_RECORD_H
#define FAULTLINE_SELF_EXEC_RECORD_H

#include <stdint.h>

struct self_exec_record {
    uint64_t count;  /* times that the program has been exec'd; 8 bytes at once, so never seen half-written */
    uint64_t error;  /* errno of the exec that failed; 0 before */
};

#endif
