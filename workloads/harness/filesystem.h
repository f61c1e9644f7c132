/* The file system of a directory, noted beside the figures. */
#ifndef FAULTLINE_FILESYSTEM_H
#define FAULTLINE_FILESYSTEM_H

#include <stdbool.h>

/*
 * In the coordinator: prints `note filesystem NAME`, and `note figure_of cache`, `disk` or
 * `memory`: what operations wait for. `waits`: each operation waits until its data is on the
 * device; exits by failure_unsupported() if the file system has none. Network file systems count as
 * disks. Exits by failure_os() if the system does not know the directory.
 */
void filesystem_note(const char *directory, bool waits);

#endif
