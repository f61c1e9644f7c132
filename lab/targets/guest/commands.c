/* See commands.h. */
#include "commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "files.h"
#include "loopback.h"
#include "network.h"
#include "per_cpu.h"
#include "plan.h"
#include "program.h"
#include "settings.h"
#include "symbols.h"

/* A setting did not take: programs are not to run without it. */
static bool is_refused;

static void run(char **words)
{
    if (!is_refused)
        program_run(words);
}

static void count(char **words)
{
    if (!is_refused)
        program_count(words[1], strcmp(words[0], "whole") == 0, words + 2);
}

static void set(const char *path, const char *value)
{
    if (!is_refused)
        is_refused = !settings_write(path, value);
}

/* The agent's own environment is what programs get; itself it reads none of it. */
static void set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        channel_failed("setenv", errno);
}

static void obey(char **words, size_t count_of_words)
{
    if (strcmp(words[0], "run") == 0 && count_of_words >= 2)
        run(words + 1);
    else if (strcmp(words[0], "count") == 0 && count_of_words >= 4)
        count(words + 1);
    else if (strcmp(words[0], "loopback") == 0 && count_of_words == 1)
        loopback_up();
    else if (strcmp(words[0], "module") == 0 && count_of_words == 2)
        network_load(words[1]);
    else if (strcmp(words[0], "address") == 0 && count_of_words == 6)
        network_address(words + 1);
    else if (strcmp(words[0], "route") == 0 && count_of_words == 7)
        network_route(words + 1);
    else if (strcmp(words[0], "forward") == 0 && count_of_words == 1)
        network_forward();
    else if (strcmp(words[0], "write") == 0 && count_of_words == 3)
        set(words[1], words[2]);
    else if (strcmp(words[0], "set") == 0 && count_of_words == 3)
        ; /* on a host the server does it before, and puts it back after */
    else if (strcmp(words[0], "env") == 0 && count_of_words == 3)
        set_variable(words[1], words[2]);
    else if (strcmp(words[0], "file") == 0 && count_of_words == 2)
        files_send(words[1]);
    else if (strcmp(words[0], "symbols") == 0 && count_of_words == 1)
        symbols_send();
    else if (strcmp(words[0], "per-cpu") == 0 && count_of_words == 3)
        per_cpu_send(words + 1);
    else
        channel_print("failed", "the plan's command '%s' is not known", words[0]);
}

void commands_obey(void)
{
    size_t count;
    char **words;
    while ((words = plan_next(&count)) != NULL)
        obey(words, count);
}
