/* Copying a directory with all that is in it. */
#ifndef FAULTLINE_TREE_COPY_H
#define FAULTLINE_TREE_COPY_H

/*
 * Copies the directory `from` to `to`, which must not exist. Modes and times of change are kept (make goes by them), symbolic
 * links stay links; sockets, pipes and devices are left out, as no build reads them. `between` is called before each entry.
 * Returns 0, or -1 with errno.
 */
int tree_copy(const char *from, const char *to, void (*between)(void));

/* After a failure: what in `from` was being copied. */
const char *tree_copy_failed_path(void);

#endif
