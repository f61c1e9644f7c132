/*
 * The system's settings (setting.h). A guest boots for each plan, so its settings need not be
 * restored.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

/* Writes the value and checks it. False after a failure, which `not-started` has reported. */
bool settings_write(const char *name, const char *value);

/* Writes a setting that is restored later. */
bool settings_change(const char *name, const char *value);

/*
 * Restores each changed setting, the last change first. Sends `left-changed` for each one that
 * could not be restored.
 */
void settings_put_back(void);

#endif
