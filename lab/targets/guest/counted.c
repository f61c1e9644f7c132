/* See counted.h. */
#include "counted.h"

#if defined(__linux__)

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel.h"
#include "faultline_mark.h"
#include "mappings.h"
#include "program.h"

/* The prefix of a scope that begins after a number of milliseconds. */
static const char after[] = "after:";

enum { MS_PER_SECOND = 1000, NS_PER_MS = 1000000 };

/* When the agent is to execute the begin mark; 0: never, or it has done so. */
static long long begin_at_ms;

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NS_PER_MS;
}

static void begin_in_time(void)
{
    if (begin_at_ms == 0 || now_ms() < begin_at_ms)
        return;
    begin_at_ms = 0;
    faultline_mark_begin();
}

enum { ORPHAN_POLLS = 10 }; /* after the program's end, for processes that outlive it */

/*
 * Forwards output until the program and all processes that it started have ended. Kills processes
 * that outlive it for long.
 */
static void follow_all(struct program *program)
{
    int polls = 0;
    while (!program->is_alone) {
        program_take();
        begin_in_time();
        mappings_send();
        program_reap(program);
        if (program->has_ended && !program->is_alone && ++polls == ORPHAN_POLLS) {
            channel_print("left", "%s", "");
            kill(-1, SIGKILL); /* all processes but this one */
        }
    }
    faultline_mark_end();
    for (bool took = true; took && program_may_speak();)
        took = program_take();
    mappings_end();
    generated_send();
}

void counted_run(const char *directory, const char *scope, char **words)
{
    bool is_later = strncmp(scope, after, sizeof after - 1) == 0;
    begin_at_ms = is_later ? now_ms() + strtoll(scope + sizeof after - 1, NULL, 10) : 0;
    mappings_watch();
    program_run_in(&(struct program_way){
        .words = words, .directory = directory, .is_marked = strcmp(scope, "whole") == 0, .follow = follow_all});
}

#endif
