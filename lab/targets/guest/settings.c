/* See settings.h. */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

enum { VALUE_BYTES = 4096 }; /* the kernel's files hold a page at most */

static const char blanks[] = " \t\n";

/* In one piece: the kernel takes each write for a whole value. 0 or an errno. */
static int write_value(const char *path, const char *value)
{
    char text[VALUE_BYTES];
    int length = snprintf(text, sizeof text, "%s\n", value);
    if (length >= (int)sizeof text)
        return E2BIG;
    int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t written = write(file, text, (size_t)length);
    int error = written == length ? 0 : written < 0 ? errno : EIO;
    close(file);
    return error;
}

/* 0 or an errno. */
static int read_value(const char *path, char text[VALUE_BYTES])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t length = read(file, text, VALUE_BYTES - 1);
    int error = errno;
    close(file);
    if (length < 0)
        return error;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

/* Of the choices that some files list, the one in brackets, in place; else the text. */
static char *chosen(char *text)
{
    for (char *word = text; *(word += strspn(word, blanks)) != '\0'; word += strcspn(word, blanks)) {
        size_t length = strcspn(word, blanks);
        if (length > 2 && word[0] == '[' && word[length - 1] == ']') {
            word[length - 1] = '\0';
            return word + 1;
        }
    }
    return text;
}

/* Whether two texts differ in blanks alone. */
static bool same_words(const char *one, const char *other)
{
    for (;;) {
        one += strspn(one, blanks);
        other += strspn(other, blanks);
        size_t length = strcspn(one, blanks);
        if (length != strcspn(other, blanks) || memcmp(one, other, length) != 0)
            return false;
        if (length == 0)
            return true;
        one += length;
        other += length;
    }
}

bool settings_write(const char *path, const char *value)
{
    char now[VALUE_BYTES];
    int error = write_value(path, value);
    if (error != 0) {
        channel_print("not-started", "%s can't be set to '%s': %s", path, value, strerror(error));
        return false;
    }
    error = read_value(path, now);
    if (error != 0) {
        channel_print("not-started", "%s can't be read: %s", path, strerror(error));
        return false;
    }
    const char *value_now = chosen(now);
    if (same_words(value_now, value))
        return true;
    channel_print("not-started", "%s can't be set to '%s': it reads '%s' after that", path, value, value_now);
    return false;
}

/* A setting as it was before it was changed. */
struct change {
    struct change *earlier;
    char path[VALUE_BYTES];
    char value[VALUE_BYTES];
};

static struct change *changes;

bool settings_change(const char *path, const char *value)
{
    struct change *change = calloc(1, sizeof *change);
    char now[VALUE_BYTES];
    int error = change == NULL ? ENOMEM : strlen(path) >= sizeof change->path ? ENAMETOOLONG : read_value(path, now);
    if (error != 0) {
        channel_print("not-started", "%s can't be read: %s", path, strerror(error));
        free(change);
        return false;
    }
    strcpy(change->path, path);
    strcpy(change->value, chosen(now));
    change->earlier = changes;
    changes = change;
    return settings_write(path, value);
}

/* Whether the setting has that value. */
static bool reads(const char *path, const char *value)
{
    char now[VALUE_BYTES];
    return read_value(path, now) == 0 && same_words(chosen(now), value);
}

void settings_put_back(void)
{
    while (changes != NULL) {
        struct change *last = changes;
        int error = reads(last->path, last->value) ? 0 : write_value(last->path, last->value);
        if (!reads(last->path, last->value))
            channel_print("left-changed", "%s can't be set to '%s' again: %s", last->path, last->value,
                          error != 0 ? strerror(error) : "it reads another value after that");
        changes = last->earlier;
        free(last);
    }
}
