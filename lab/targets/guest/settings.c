/* See settings.h. */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "setting.h"

static const char blanks[] = " \t\n";

/* True if two texts differ in blanks only. */
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
    char now[SETTING_BYTES];
    int error = setting_write(path, value);
    if (error != 0) {
        channel_print("not-started", "%s can't be set to '%s': %s", path, value, strerror(error));
        return false;
    }
    error = setting_read(path, now);
    if (error != 0) {
        channel_print("not-started", "%s can't be read: %s", path, strerror(error));
        return false;
    }
    if (same_words(now, value))
        return true;
    channel_print("not-started", "%s can't be set to '%s': it reads '%s' after that", path, value, now);
    return false;
}

/* A setting's previous value. */
struct change {
    struct change *earlier;
    char path[SETTING_BYTES];
    char value[SETTING_BYTES];
};

static struct change *changes;

bool settings_change(const char *path, const char *value)
{
    struct change *change = calloc(1, sizeof *change);
    char now[SETTING_BYTES];
    int error = change == NULL ? ENOMEM : strlen(path) >= sizeof change->path ? ENAMETOOLONG : setting_read(path, now);
    if (error != 0) {
        channel_print("not-started", "%s can't be read: %s", path, strerror(error));
        free(change);
        return false;
    }
    strcpy(change->path, path);
    strcpy(change->value, now);
    change->earlier = changes;
    changes = change;
    return settings_write(path, value);
}

/* True if the setting has that value. */
static bool reads(const char *path, const char *value)
{
    char now[SETTING_BYTES];
    return setting_read(path, now) == 0 && same_words(now, value);
}

void settings_put_back(void)
{
    while (changes != NULL) {
        struct change *last = changes;
        int error = reads(last->path, last->value) ? 0 : setting_write(last->path, last->value);
        if (!reads(last->path, last->value))
            channel_print("left-changed", "%s can't be set to '%s' again: %s", last->path, last->value,
                          error != 0 ? strerror(error) : "it reads another value after that");
        changes = last->earlier;
        free(last);
    }
}
