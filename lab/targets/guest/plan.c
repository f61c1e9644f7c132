/* See plan.h. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char **words;
static size_t word_count;
static size_t next;

/* The file, with a NUL byte appended. */
static char *read_whole(const char *path, size_t *length)
{
    *length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        return NULL;
    *length = (size_t)status.st_size;
    char *bytes = calloc(*length + 1, 1);
    ssize_t got = bytes == NULL ? -1 : read(file, bytes, *length); /* never a short read in an initramfs */
    close(file);
    return got == (ssize_t)*length ? bytes : NULL;
}

/* True if the words are complete commands. */
static bool is_whole(void)
{
    size_t at = 0;
    while (at < word_count) {
        size_t count = strtoul(words[at], NULL, 10);
        if (count == 0 || count >= word_count - at)
            return false;
        at += 1 + count;
    }
    return true;
}

bool plan_take(char *bytes, size_t length)
{
    free(words);
    word_count = next = 0;
    words = calloc(length + 1, sizeof *words); /* a word has at least one byte, its end */
    if (bytes == NULL || words == NULL)
        return false;
    for (char *word = bytes; word < bytes + length; word += strlen(word) + 1)
        words[word_count++] = word;
    if (is_whole())
        return true;
    word_count = 0;
    errno = EINVAL;
    return false;
}

bool plan_read(const char *path)
{
    size_t length;
    char *bytes = read_whole(path, &length);
    return plan_take(bytes, length);
}

void plan_rewind(void)
{
    next = 0;
}

char **plan_next(size_t *count)
{
    static char **command;
    if (next >= word_count)
        return NULL;
    *count = strtoul(words[next], NULL, 10);
    free(command);
    command = calloc(*count + 1, sizeof *command);
    if (command != NULL)
        memcpy(command, words + next + 1, *count * sizeof *command);
    next += 1 + *count;
    return command;
}
