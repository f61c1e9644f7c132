/* See files.h. */
#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "channel.h"

enum { PATH_BYTES = 512 };

static void send_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, file);
    if (length >= 0)
        channel_print("file", "%s", path);
    for (; length >= 0; length = getline(&line, &room, file)) {
        if (length > 0 && line[length - 1] == '\n')
            length--;
        channel_send("line", line, (size_t)length);
    }
    free(line);
    fclose(file);
}

static void send_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char name[PATH_BYTES];
        struct stat status;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name && stat(name, &status) == 0 &&
            S_ISREG(status.st_mode))
            send_file(name);
    }
    closedir(directory);
}

void files_send(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return;
    if (S_ISDIR(status.st_mode))
        send_directory(path);
    else
        send_file(path);
}
