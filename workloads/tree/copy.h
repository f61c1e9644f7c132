/* Recursive copy of a directory. */
#ifndef FAULTLINE_TREE_COPY_H
#define FAULTLINE_TREE_COPY_H

/*
 * Copies the directory `from` to `to`, which must not exist. Keeps modes, modification times (make
 * uses them) and symbolic links. Leaves out sockets, pipes and devices, which no build reads. Calls
 * `between` before each entry. Returns 0, or -1 with errno.
 */
int tree_copy(const char *from, const char *to, void (*between)(void));

/* After a failure: the path in `from` that was being copied. */
const char *tree_copy_failed_path(void);

#endif
