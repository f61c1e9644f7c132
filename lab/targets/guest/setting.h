/*
 * One setting of the system. On Linux its name is the path of a file of one line. On a BSD its name
 * is one that sysctl(8) knows.
 */
#ifndef SETTING_H
#define SETTING_H

enum { SETTING_BYTES = 4096 }; /* of a value, with a NUL byte; the files of Linux hold a page at most */

/* Writes the value; 0 or an errno. */
int setting_write(const char *name, const char *value);

/* Reads the value; 0 or an errno. */
int setting_read(const char *name, char value[SETTING_BYTES]);

#endif
