/* See orphans.h. */
#include "orphans.h"

#if defined(__linux__)

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STAT_BYTES = 512 };

void orphans_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/*
 * The process's parent, from proc_pid_stat(5): the second word after the name, which may contain
 * anything. 0 if the process has gone.
 */
static pid_t parent_of(int processes, const char *name)
{
    char path[STAT_BYTES];
    char text[STAT_BYTES];
    snprintf(path, sizeof path, "%s/stat", name);
    int file = openat(processes, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    int parent;
    return name_end != NULL && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

void orphans_kill(void)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid > 0 && *end == '\0' && parent_of(dirfd(processes), entry->d_name) == getpid())
            kill((pid_t)pid, SIGKILL);
    }
    closedir(processes);
}

#else

void orphans_adopt(void)
{
}

void orphans_kill(void)
{
}

#endif
