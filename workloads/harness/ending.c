/* See ending.h. */
#include "ending.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "orphans.h"

enum { OPEN_DIRECTORIES = 32, REMOVAL_PASSES = 16, REMOVALS_BY_GUARD = 20, WAITS_FOR_GROUP = 10 };

#define REAP_LIMIT_NS (10 * NS_PER_S)

static char *scratch;
static pid_t guard;
static int spare = -1; /* given up when a directory must be opened and no descriptor is free */

static void sleep_ms(long ms)
{
    struct timespec rest = {.tv_nsec = ms * 1000000L};
    nanosleep(&rest, NULL);
}

void ending_owns_scratch(char *path)
{
    scratch = path;
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

const char *ending_scratch(void)
{
    return scratch;
}

void ending_owns_group(pid_t leader)
{
    guard = leader;
}

void ending_is_the_parents(void)
{
    if (spare >= 0)
        close(spare);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)kind;
    (void)position;
    remove(path); /* a failure shows when the directory cannot be removed */
    return 0;
}

static int open_to_ourselves(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)position;
    if (kind == FTW_D || kind == FTW_DNR)
        chmod(path, 0700); /* a failure shows when it cannot be removed */
    return 0;
}

static void walk_scratch(int (*visit)(const char *, const struct stat *, int, struct FTW *), int flags)
{
    if (nftw(scratch, visit, OPEN_DIRECTORIES, flags | FTW_PHYS) != 0 && (errno == EMFILE || errno == ENFILE))
        nftw(scratch, visit, 1, flags | FTW_PHYS);
}

static bool remove_scratch(void)
{
    if (spare >= 0)
        close(spare);
    spare = -1;
    walk_scratch(remove_entry, FTW_DEPTH);
    /*
     * Directories that a build made read-only refuse to remove entries. Each pass opens one more
     * level of unreadable directories.
     */
    for (int pass = 0; pass < REMOVAL_PASSES && access(scratch, F_OK) == 0; pass++) {
        walk_scratch(open_to_ourselves, 0);
        walk_scratch(remove_entry, FTW_DEPTH);
    }
    return access(scratch, F_OK) != 0;
}

void ending_remove_scratch_soon(void)
{
    for (int attempt = 0; scratch != NULL && attempt < REMOVALS_BY_GUARD && !remove_scratch(); attempt++)
        sleep_ms(20); /* killed processes take a moment to die */
}

void ending_clear_away(void)
{
    if (guard > 0) {
        /* The guard leads the group of all children and their children, and dies with them. */
        kill(-guard, SIGKILL);
        guard = 0;
        uint64_t deadline_ns = clock_now_ns() + REAP_LIMIT_NS;
        unsigned waits = 0;
        for (;;) {
            pid_t pid = waitpid(-1, NULL, WNOHANG);
            if ((pid < 0 && errno != EINTR) || clock_now_ns() > deadline_ns)
                break;
            if (pid != 0)
                continue;
            sleep_ms(1);
            if (++waits > WAITS_FOR_GROUP) /* the remaining processes have left the group */
                orphans_kill();
        }
    }
    if (scratch != NULL) {
        if (!remove_scratch())
            fprintf(stderr, "cannot remove %s: %s\n", scratch, strerror(errno));
        free(scratch);
        scratch = NULL;
    }
}

void ending_exit(int status)
{
    ending_clear_away();
    exit(status);
}
