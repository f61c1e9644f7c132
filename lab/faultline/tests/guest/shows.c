/* A workload for guests that prints an environment variable and two system settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *path)
{
    char line[256] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        perror(path);
    printf("%s\n", strtok(line, "\n"));
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--describe") == 0) {
        printf("faultline-describe 1 shows\nsummary a fake\noperation turn\nunit turn/s\ndirection higher\nstyle loop\n"
               "window_ms 10\nvariant only process a fake\nend\n");
        return 0;
    }
    const char *greeting = getenv("GREETING");
    printf("%s\n", greeting != NULL ? greeting : "none");
    show("/proc/sys/vm/overcommit_ratio");
    show("/sys/kernel/mm/transparent_hugepage/enabled");
    return 0;
}
