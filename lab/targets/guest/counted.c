/* See counted.h. */
#include "counted.h"

#if defined(__linux__)

#include <signal.h>

#include "channel.h"
#include "faultline_mark.h"
#include "mappings.h"
#include "program.h"

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

void counted_run(const char *directory, bool is_whole, char **words)
{
    mappings_watch();
    program_run_in(&(struct program_way){
        .words = words, .directory = directory, .is_marked = is_whole, .follow = follow_all});
}

#endif
