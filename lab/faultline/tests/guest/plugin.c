/* A minimal QEMU plugin: writes its arguments to the file named in the first, `output=FILE`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int qemu_plugin_version = 1;

/*
 * Since QEMU 9, the interface has scoreboards, and the minimum version is 2. QEMU reads the version
 * after this constructor.
 */
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
