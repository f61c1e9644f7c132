/* See filesystem.h. */
#include "filesystem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <sys/vfs.h>
#elif defined(__NetBSD__)
#include <sys/statvfs.h>
#elif defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
#include <sys/param.h>
#include <sys/mount.h>
#endif

#include "failure.h"
#include "protocol.h"

enum { NAME_BYTES = 32 };

#if defined(__linux__)
/* Linux gives a number (statfs(2)). */
static int name_of(const char *directory, char *name)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } known[] = {
        {0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0xef53, "ext4"},     {0x58465342, "xfs"}, {0x9123683e, "btrfs"},
        {0x794c7630, "overlay"}, {0x6969, "nfs"},     {0x2fc12fc1, "zfs"}, {0xf2f52010, "f2fs"},
    };
    struct statfs status;
    if (statfs(directory, &status) != 0)
        return -1;
    unsigned long magic = (unsigned long)status.f_type & 0xffffffff;
    snprintf(name, NAME_BYTES, "0x%lx", magic);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].magic == magic)
            snprintf(name, NAME_BYTES, "%s", known[i].name);
    return 0;
}
#elif defined(__NetBSD__)
static int name_of(const char *directory, char *name)
{
    struct statvfs status;
    if (statvfs(directory, &status) != 0)
        return -1;
    snprintf(name, NAME_BYTES, "%s", status.f_fstypename);
    return 0;
}
#elif defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
static int name_of(const char *directory, char *name)
{
    struct statfs status;
    if (statfs(directory, &status) != 0)
        return -1;
    snprintf(name, NAME_BYTES, "%s", status.f_fstypename);
    return 0;
}
#else
/* POSIX has no file-system name. */
static int name_of(const char *directory, char *name)
{
    (void)directory;
    snprintf(name, NAME_BYTES, "unknown");
    return 0;
}
#endif

/* File systems without a device. */
static bool is_memory(const char *name)
{
    static const char *const names[] = {"tmpfs", "ramfs", "mfs"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void filesystem_note(const char *directory, bool waits)
{
    char name[NAME_BYTES];
    if (name_of(directory, name) != 0)
        failure_os("statfs", errno);
    protocol_line("note filesystem %s", name);
    if (waits && is_memory(name))
        failure_unsupported("statfs", "the scratch directory is on %s, which has no device; name another one by --scratch", name);
    const char *with_device = waits ? "disk" : "cache";
    protocol_line("note figure_of %s", is_memory(name) ? "memory" : with_device);
}
