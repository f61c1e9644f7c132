/* The system's settings (setting.h). A guest boots anew for each plan, so nothing is put back there. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

/* Writes the value and sees whether it took; false when it did not: `not-started` has said why then. */
bool settings_write(const char *name, const char *value);

/* The same for a setting that is put back later. */
bool settings_change(const char *name, const char *value);

/* Gives each changed setting the value that it had, the last change first. `left-changed` names each one that could not be put back. */
void settings_put_back(void);

#endif
