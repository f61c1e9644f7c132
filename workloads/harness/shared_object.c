/* See shared_object.h. */
#include "shared_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_io.h"

#if defined(__linux__)

int shared_object_open(void)
{
    return memfd_create("faultline", MFD_CLOEXEC);
}

#else

/*
 * Opens an object by a name that is removed at once; the number only distinguishes two simultaneous
 * calls.
 */
int shared_object_open(void)
{
    char name[64];
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(name, sizeof name, "/faultline-%ld-%u", (long)getpid(), attempt);
        int object = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600); /* POSIX: closes on exec */
        if (object >= 0) {
            shm_unlink(name);
            return object;
        }
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

#endif

int shared_object_open_resident(size_t bytes)
{
    int object = shared_object_open();
    if (object < 0)
        return -1;
    /*
     * Writes instead of extending and touching, so that lack of space is an error here instead of
     * SIGBUS later.
     */
    if (file_fill(object, bytes) != 0) {
        int error = errno;
        close(object);
        errno = error;
        return -1;
    }
    return object;
}
