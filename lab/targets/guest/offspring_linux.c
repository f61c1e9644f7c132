/* See offspring.h. */
#include "offspring.h"

#if defined(__linux__)

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    STAT_BYTES = 512, /* the parent's number comes early in the line */
};

void offspring_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* fails only on kernels before 3.4 */
}

pid_t offspring_fork(void)
{
    pid_t child = fork();
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* 0 if unknown. */
static pid_t parent_of(const char *process)
{
    char path[64], line[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *after_name = strrchr(line, ')'); /* the name in brackets may contain anything */
    int parent = 0;
    return after_name != NULL && sscanf(after_name + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Grandchildren become children when their parents are gone. */
void offspring_kill_children(void)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid())
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    closedir(processes);
}

#endif
