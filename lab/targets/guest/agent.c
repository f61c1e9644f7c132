/*
 * The first process of a guest: mounts what programs need, does what its plan says, tells it all over the channel, and
 * switches the machine off. Linux alone; linked statically, as nothing else is in the initramfs but the workloads.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "files.h"
#include "loopback.h"
#include "per_cpu.h"
#include "plan.h"
#include "program.h"
#include "settings.h"
#include "symbols.h"

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

/* A directory that the archive brought is in memory too; a file system over it would hide what it holds. */
static bool is_needed(const char *type, const char *place)
{
    bool is_new = mkdir(place, 0755) == 0; /* else it is there, or the mount fails too */
    return is_new || strcmp(type, "tmpfs") != 0;
}

/* Mounts all; the first that failed, or NULL, and why. */
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

/* A setting did not take: programs are not to run without it. */
static bool is_refused;

static void run(char **words)
{
    if (!is_refused)
        program_run(words);
}

static void count(char **words)
{
    if (!is_refused)
        program_count(words[1], strcmp(words[0], "whole") == 0, words + 2);
}

static void set(const char *path, const char *value)
{
    if (!is_refused)
        is_refused = !settings_write(path, value);
}

/* The agent's own environment is what programs get; itself it reads none of it. */
static void set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        channel_failed("setenv", errno);
}

static void obey(char **words, size_t count_of_words)
{
    if (strcmp(words[0], "run") == 0 && count_of_words >= 2)
        run(words + 1);
    else if (strcmp(words[0], "count") == 0 && count_of_words >= 4)
        count(words + 1);
    else if (strcmp(words[0], "loopback") == 0 && count_of_words == 1)
        loopback_up();
    else if (strcmp(words[0], "write") == 0 && count_of_words == 3)
        set(words[1], words[2]);
    else if (strcmp(words[0], "env") == 0 && count_of_words == 3)
        set_variable(words[1], words[2]);
    else if (strcmp(words[0], "file") == 0 && count_of_words == 2)
        files_send(words[1]);
    else if (strcmp(words[0], "symbols") == 0 && count_of_words == 1)
        symbols_send();
    else if (strcmp(words[0], "per-cpu") == 0 && count_of_words == 3)
        per_cpu_send(words + 1);
    else
        channel_print("failed", "the plan's command '%s' is not known", words[0]);
}

int main(void)
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
    size_t count;
    char **words;
    while ((words = plan_next(&count)) != NULL)
        obey(words, count);
    channel_print("end", "%s", "");
    channel_drain();
    reboot(RB_POWER_OFF);
    return 0; /* a kernel that can't switch off panics now, and its emulator ends */
}
