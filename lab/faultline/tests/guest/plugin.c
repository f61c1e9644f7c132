/* The least of a QEMU plugin: writes what it was told to the file named in its first argument, `output=FILE`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int qemu_plugin_version = 1;

/* From QEMU 9 on the interface has scoreboards, and version 2 is the least. QEMU reads the version after this. */
__attribute__((constructor)) static void name_the_version(void)
{
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new") != NULL)
        qemu_plugin_version = 2;
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments)
{
    (void)id;
    (void)info;
    FILE *file = count > 0 ? fopen(strchr(arguments[0], '=') + 1, "w") : NULL;
    if (file == NULL)
        return -1;
    for (int i = 1; i < count; i++)
        fprintf(file, "%s\n", arguments[i]);
    return fclose(file);
}
