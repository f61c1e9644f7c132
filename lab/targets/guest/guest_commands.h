/* Commands of a plan that only guests under our own kernel get: their network, and what the lens needs. Linux alone. */
#ifndef GUEST_COMMANDS_H
#define GUEST_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

/* Obeys a command of `count` words; false when it is none of these. `is_refused`: a setting did not take, and no program is to run. */
bool guest_commands_obey(char **words, size_t count, bool is_refused);

#endif
