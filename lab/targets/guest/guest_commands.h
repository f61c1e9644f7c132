/*
 * Commands of a plan for guests under our own kernel only: their network, and inputs of the lens.
 * Linux only.
 */
#ifndef GUEST_COMMANDS_H
#define GUEST_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Executes a command of `count` words. False for an unknown command. `is_refused`: a setting
 * failed, and no program may run.
 */
bool guest_commands_obey(char **words, size_t count, bool is_refused);

#endif
