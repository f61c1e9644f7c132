/* Writing and copying whole files. */
#ifndef FAULTLINE_FILE_IO_H
#define FAULTLINE_FILE_IO_H

#include <stddef.h>
#include <sys/types.h>

/* Each returns 0, or -1 with errno. */

/* Writes all of it at the current position of the descriptor. */
int file_write(int file, const void *data, size_t bytes);
/* Writes `bytes` of non-zero data, so that no system stores holes. */
int file_fill(int file, size_t bytes);
/* Creates `path` with `data`. */
int file_make(const char *path, const void *data, size_t bytes);
/* Copies a regular file, giving the copy `mode`. */
int file_copy(const char *from, const char *to, mode_t mode);

#endif
