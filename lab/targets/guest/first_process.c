/* See first_process.h. */
#include "first_process.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__linux__)

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "commands.h"
#include "plan.h"

static const char plan_path[] = "/faultline/plan";

static const struct {
    const char *type, *place, *options;
} mounts[] = {
    {"devtmpfs", "/dev", ""}, /* first: the channel is a device */
    {"proc", "/proc", ""},
    {"sysfs", "/sys", ""},
    {"tmpfs", "/tmp", "mode=1777"}, /* scratch files */
    {"tmpfs", "/dev/shm", "mode=1777"},
};

/*
 * A directory from the archive is in memory too. Mounting a file system over it would hide its
 * files.
 */
static bool is_needed(const char *type, const char *place)
{
    bool is_new = mkdir(place, 0755) == 0; /* otherwise it exists, or the mount fails too */
    return is_new || strcmp(type, "tmpfs") != 0;
}

/* Mounts all. Returns the first mount that failed, with errno in `*why`, or NULL. */
static const char *mount_all(int *error)
{
    const char *failed = NULL;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        if (is_needed(mounts[i].type, mounts[i].place) &&
            mount(mounts[i].type, mounts[i].place, mounts[i].type, 0, mounts[i].options) != 0 &&
            failed == NULL) {
            failed = mounts[i].type;
            *error = errno;
        }
    }
    return failed;
}

int first_process(void)
{
    if (getpid() != 1) {
        fprintf(stderr, "faultline: this is the first process of a guest; it does nothing elsewhere\n");
        return EXIT_FAILURE;
    }
    int mount_error = 0;
    const char *unmounted = mount_all(&mount_error);
    channel_open();
    if (unmounted != NULL)
        channel_failed(unmounted, mount_error);
    if (!plan_read(plan_path))
        channel_failed(plan_path, errno);
    commands_obey();
    channel_print("end", "%s", "");
    channel_drain();
    reboot(RB_POWER_OFF);
    return 0; /* a kernel that cannot switch off panics now, and its emulator ends */
}

#else

int first_process(void)
{
    fprintf(stderr, "faultline: on this system the agent only serves: agent serve DIRECTORY\n");
    return EXIT_FAILURE;
}

#endif
