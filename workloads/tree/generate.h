/* A generated source tree: the same numbers give the same bytes on every system. */
#ifndef FAULTLINE_TREE_GENERATE_H
#define FAULTLINE_TREE_GENERATE_H

enum { TREE_FILES_MAX = 5000 };

/*
 * Writes a tree of `files` C files, a header and a Makefile into the existing directory `path`.
 * Each C file depends only on the header, so all can be compiled concurrently; one link at the end
 * joins them. Returns 0, or -1 with errno.
 */
int tree_generate(const char *path, unsigned files);

#endif
