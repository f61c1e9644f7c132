/* Sending of files in /proc and /sys, from which the lab reads facts about the guest. */
#ifndef FILES_H
#define FILES_H

/* Sends a file, or each file of a directory. Unreadable files are omitted. */
void files_send(const char *path);

#endif
