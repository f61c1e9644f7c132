/* For systems whose event counters are not supported yet: there are none. */
#include "counters.h"

#if !defined(__linux__) && !defined(__FreeBSD__) && !defined(__DragonFly__) && !defined(__OpenBSD__) && !defined(__NetBSD__)

const char *const counters_processes_name = NULL;

void counters_read_system(struct counters *counters, bool with_network)
{
    (void)with_network;
    (void)counters;
}

#endif
