/* See copy.h. */
#include "tree/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/file_io.h"

enum { PATH_BYTES = 4096 };

static char failed_path[PATH_BYTES];

static int copy_entry(const char *from, const char *to, void (*between)(void));

static char *join(const char *directory, const char *name)
{
    size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path != NULL)
        snprintf(path, bytes, "%s/%s", directory, name);
    return path;
}

static int copy_link(const char *from, const char *to, const struct stat *status)
{
    size_t room = (size_t)status->st_size + 1;
    char *target = malloc(room);
    if (target == NULL)
        return -1;
    ssize_t length = readlink(from, target, room - 1);
    int result = -1;
    if (length >= 0) {
        target[length] = '\0';
        result = symlink(target, to);
    }
    free(target);
    return result;
}

static int copy_child(const char *from, const char *to, const char *name, void (*between)(void))
{
    char *child_from = join(from, name);
    char *child_to = join(to, name);
    int result = child_from != NULL && child_to != NULL ? copy_entry(child_from, child_to, between) : -1;
    int error = errno;
    if (result != 0 && failed_path[0] == '\0') /* the innermost one gets here first */
        snprintf(failed_path, sizeof failed_path, "%s/%s", from, name);
    free(child_from);
    free(child_to);
    errno = error;
    return result;
}

static int copy_directory(const char *from, const char *to, mode_t mode, void (*between)(void))
{
    DIR *directory = opendir(from);
    if (directory == NULL)
        return -1;
    /* Writable while it is filled; it gets its own mode at the end. */
    int result = mkdir(to, 0700);
    while (result == 0) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL) {
            result = errno == 0 ? chmod(to, mode) : -1;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = copy_child(from, to, entry->d_name, between);
    }
    int error = errno;
    closedir(directory);
    errno = error;
    return result;
}

static int copy_entry(const char *from, const char *to, void (*between)(void))
{
    between();
    struct stat status;
    if (lstat(from, &status) != 0)
        return -1;
    if (S_ISLNK(status.st_mode))
        return copy_link(from, to, &status);
    mode_t mode = status.st_mode & 07777;
    int result;
    if (S_ISDIR(status.st_mode))
        result = copy_directory(from, to, mode, between);
    else if (S_ISREG(status.st_mode))
        result = file_copy(from, to, mode);
    else
        return 0;
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    return result == 0 ? utimensat(AT_FDCWD, to, times, 0) : result;
}

int tree_copy(const char *from, const char *to, void (*between)(void))
{
    failed_path[0] = '\0';
    int result = copy_entry(from, to, between);
    int error = errno;
    if (result != 0 && failed_path[0] == '\0')
        snprintf(failed_path, sizeof failed_path, "%s", from);
    errno = error;
    return result;
}

const char *tree_copy_failed_path(void)
{
    return failed_path;
}
