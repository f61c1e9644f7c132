// Starts the bundled emulator with its own loader and libraries, so that it runs on any Linux. It
// is a program rather than a script, because an image may have no shell.
//
// DIRECTORY/usr/bin/qemu-system-x86_64 is this program. In DIRECTORY/usr/lib are the loader, the
// libraries and the emulator. The emulator takes the loader for its own program, and looks for its
// files beside it.

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char own[PATH_MAX], libraries[PATH_MAX + 16], loader[PATH_MAX + 64], program[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0) {
        perror("/proc/self/exe");
        return 127;
    }
    own[length] = '\0';
    char *usr = dirname(dirname(own));
    snprintf(libraries, sizeof libraries, "%s/lib", usr);
    snprintf(loader, sizeof loader, "%s/loader", libraries);
    snprintf(program, sizeof program, "%s/qemu-system-x86_64", libraries);

    char *before[] = {loader, "--library-path", libraries, "--argv0", "qemu-system-x86_64", program};
    size_t count = sizeof before / sizeof *before;
    char **words = calloc(count + (size_t)argc, sizeof *words);
    if (!words)
        return 127;
    memcpy(words, before, sizeof before);
    for (int i = 1; i < argc; i++)
        words[count + (size_t)i - 1] = argv[i];
    execv(loader, words);
    perror(loader);
    return 127;
}
