/* See commands.h. */
#include "commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "files.h"
#include "guest_commands.h"
#include "plan.h"
#include "program.h"
#include "settings.h"

/* A setting failed: no program may run without it. */
static bool is_refused;

static void run(char **words)
{
    if (!is_refused)
        program_run(words);
}

static void set(const char *path, const char *value)
{
    if (!is_refused)
        is_refused = !settings_write(path, value);
}

/* The agent's environment is that of the programs. The agent itself reads none of it. */
static void set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        channel_failed("setenv", errno);
}

static void obey(char **words, size_t count_of_words)
{
    if (strcmp(words[0], "run") == 0 && count_of_words >= 2)
        run(words + 1);
    else if (strcmp(words[0], "write") == 0 && count_of_words == 3)
        set(words[1], words[2]);
    else if (strcmp(words[0], "set") == 0 && count_of_words == 3)
        ; /* on a host the server writes and restores it */
    else if (strcmp(words[0], "env") == 0 && count_of_words == 3)
        set_variable(words[1], words[2]);
    else if (strcmp(words[0], "file") == 0 && count_of_words == 2)
        files_send(words[1]);
    else if (!guest_commands_obey(words, count_of_words, is_refused))
        channel_print("failed", "the plan's command '%s' is not known", words[0]);
}

void commands_obey(void)
{
    size_t count;
    char **words;
    while ((words = plan_next(&count)) != NULL)
        obey(words, count);
}
