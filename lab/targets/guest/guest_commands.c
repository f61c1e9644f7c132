/* See guest_commands.h. */
#include "guest_commands.h"

#if defined(__linux__)

#include <string.h>

#include "counted.h"
#include "network.h"
#include "symbols.h"

static void count_program(char **words, bool is_refused)
{
    if (!is_refused)
        counted_run(words[1], words[0], words + 2);
}

bool guest_commands_obey(char **words, size_t count, bool is_refused)
{
    if (strcmp(words[0], "count") == 0 && count >= 4)
        count_program(words + 1, is_refused);
    else if (strcmp(words[0], "loopback") == 0 && count == 1)
        loopback_up();
    else if (strcmp(words[0], "module") == 0 && count == 2)
        network_load(words[1]);
    else if (strcmp(words[0], "address") == 0 && count == 6)
        network_address(words + 1);
    else if (strcmp(words[0], "route") == 0 && count == 7)
        network_route(words + 1);
    else if (strcmp(words[0], "forward") == 0 && count == 1)
        network_forward();
    else if (strcmp(words[0], "symbols") == 0 && count == 1)
        symbols_send();
    else if (strcmp(words[0], "per-cpu") == 0 && count == 3)
        per_cpu_send(words + 1);
    else
        return false;
    return true;
}

#else

bool guest_commands_obey(char **words, size_t count, bool is_refused)
{
    (void)words, (void)count, (void)is_refused;
    return false;
}

#endif
