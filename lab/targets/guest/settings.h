/* The system's settings in the guest, each a file of one line. It boots anew for each plan, so nothing is put back. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

/* Writes the value into the file and sees whether it took; false when it did not: `not-started` has said why then. */
bool settings_write(const char *path, const char *value);

#endif
