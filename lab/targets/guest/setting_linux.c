/* See setting.h. */
#include "setting.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char blanks[] = " \t\n";

/* In one piece: the kernel treats each write as a whole value. */
int setting_write(const char *path, const char *value)
{
    char text[SETTING_BYTES];
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

/*
 * Extracts, in place, the choice in brackets from files that list choices; otherwise keeps the
 * text.
 */
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

int setting_read(const char *path, char value[SETTING_BYTES])
{
    char text[SETTING_BYTES];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t length = read(file, text, sizeof text - 1);
    int error = errno;
    close(file);
    if (length < 0)
        return error;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    strcpy(value, chosen(text));
    return 0;
}

#endif
