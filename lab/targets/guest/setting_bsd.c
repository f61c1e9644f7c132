/*
 * See setting.h. Runs the system's own program: it knows the type of each name, and OpenBSD has no
 * call that takes a name.
 */
#include "setting.h"

#if !defined(__linux__)

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* On some systems, users other than root lack /sbin in PATH. */
static const char in_shell[] = "PATH=$PATH:/sbin:/usr/sbin; exec sysctl \"$@\"";

static _Noreturn void become_sysctl(const char *option, const char *argument, int output)
{
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", in_shell, "sysctl", option, argument, (char *)NULL);
    _exit(127);
}

/* The first bytes of its output. The rest is read too, so that it can end. */
static void read_to_end(int pipe_end, char text[SETTING_BYTES])
{
    char rest[SETTING_BYTES];
    size_t length = 0;
    for (;;) {
        size_t room = SETTING_BYTES - 1 - length;
        ssize_t got = room > 0 ? read(pipe_end, text + length, room) : read(pipe_end, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (room > 0)
            length += (size_t)got;
    }
    text[length] = '\0';
}

/*
 * 0 or an errno. EINVAL: the program refused, because the name does not exist or the value is
 * invalid.
 */
static int run_sysctl(const char *option, const char *argument, char said[SETTING_BYTES])
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return errno;
    pid_t process = fork();
    if (process == 0)
        become_sysctl(option, argument, ends[1]);
    int error = process < 0 ? errno : 0;
    close(ends[1]);
    if (error == 0) {
        read_to_end(ends[0], said);
        while (waitpid(process, &status, 0) < 0 && errno == EINTR)
            ;
        if (status != 0)
            error = EINVAL;
    }
    close(ends[0]);
    return error;
}

int setting_write(const char *name, const char *value)
{
    char assignment[SETTING_BYTES], said[SETTING_BYTES];
    if (snprintf(assignment, sizeof assignment, "%s=%s", name, value) >= (int)sizeof assignment)
        return E2BIG;
    int error = run_sysctl("-w", assignment, said); /* NetBSD needs the option; the others ignore it */
    return error == EINVAL && geteuid() != 0 ? EPERM : error;
}

int setting_read(const char *name, char value[SETTING_BYTES])
{
    int error = run_sysctl("-n", name, value);
    value[error == 0 ? strcspn(value, "\n") : 0] = '\0';
    return error;
}

#endif
