/* The least of a QEMU plugin: writes what it was told to the file named in its first argument, `output=FILE`. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int qemu_plugin_version = 1;

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
