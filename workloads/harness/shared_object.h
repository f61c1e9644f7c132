/*
 * An anonymous memory object, mapped shared, or read and written, by all processes that inherit its
 * descriptor.
 */
#ifndef FAULTLINE_SHARED_OBJECT_H
#define FAULTLINE_SHARED_OBJECT_H

#include <stddef.h>

/* Returns a descriptor of an empty object that closes on exec, or -1 with errno. */
int shared_object_open(void);

/* Returns an object filled with `bytes` of resident data, or -1 with errno. */
int shared_object_open_resident(size_t bytes);

#endif
