/* See command.h. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "lifetime.h"
#include "protocol.h"
#include "signals.h"

#define RUN_LIMIT_NS (10 * NS_PER_S)
#define WATCH_NS (20 * NS_PER_MS)

enum { LINE_BYTES = 256 };

char **command_split(const char *text, size_t room)
{
    size_t places = strlen(text) / 2 + 2 + room;
    char **words = calloc(1, places * sizeof *words + strlen(text) + 1);
    if (words == NULL)
        return NULL;
    char *copy = strcpy((char *)(words + places), text);
    size_t count = 0;
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    return words;
}

/*
 * In the child: runs the command with `output` as its standard output; on failure writes its errno
 * to `error`.
 */
static _Noreturn void become_command(char *const *arguments, int output, int error)
{
    dup2(output, STDOUT_FILENO);
    execvp(arguments[0], arguments);
    int reason = errno;
    if (write(error, &reason, sizeof reason) < 0)
        _exit(126);
    _exit(127);
}

/* Reads once, like read(), and keeps as much as fits in the line. */
static ssize_t read_some(int output, char *line, size_t line_bytes, size_t *length)
{
    char block[LINE_BYTES];
    ssize_t n = read(output, block, sizeof block);
    for (ssize_t i = 0; i < n && *length < line_bytes - 1; i++)
        line[(*length)++] = block[i];
    return n;
}

/*
 * Reads until the child has ended, and keeps the first line. Returns its status. Does not wait for
 * the end of file, because a server started by the command may keep the pipe open.
 */
static int read_first_line(pid_t child, int output, char *line, size_t line_bytes)
{
    uint64_t deadline_ns = clock_now_ns() + RUN_LIMIT_NS;
    size_t length = 0;
    int watched = output;
    int status;
    while (waitpid(child, &status, WNOHANG) != child) {
        if (clock_now_ns() > deadline_ns)
            failure_os("command", ETIMEDOUT);
        signals_wait(clock_now_ns() + WATCH_NS, watched);
        if (read_some(output, line, line_bytes, &length) == 0)
            watched = -1; /* an end of file would wake us again and again */
    }
    while (length < line_bytes - 1 && read_some(output, line, line_bytes, &length) > 0)
        continue; /* read its last output */
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return status;
}

int command_first_line(char *const *arguments, char *line, size_t line_bytes)
{
    int output[2];
    int error[2];
    if (pipe(output) != 0 || pipe(error) != 0)
        failure_os("pipe", errno);
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    fcntl(error[1], F_SETFD, FD_CLOEXEC); /* a successful exec closes it without writing */
    pid_t child = lifetime_fork();
    if (child < 0)
        failure_os("fork", errno);
    if (child == 0)
        become_command(arguments, output[1], error[1]);
    close(output[1]);
    close(error[1]);

    int reason = 0;
    ssize_t n;
    while ((n = read(error[0], &reason, sizeof reason)) < 0 && errno == EINTR)
        continue;
    int status = read_first_line(child, output[0], line, line_bytes);
    close(output[0]);
    close(error[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        line[0] = '\0';
    return n == (ssize_t)sizeof reason ? reason : 0;
}

char **command_compiler(size_t room)
{
    const char *named = getenv("CC");
    char **compiler = command_split(named != NULL && named[strspn(named, " ")] != '\0' ? named : "cc", room + 1);
    if (compiler == NULL)
        failure_os("malloc", errno);
    size_t words = 0;
    while (compiler[words] != NULL)
        words++;

    char version[LINE_BYTES];
    char ask[] = "--version";
    compiler[words] = ask;
    int error = command_first_line(compiler, version, sizeof version);
    compiler[words] = NULL;
    if (error != 0)
        failure_unsupported("compiler", "cannot run %s: %s", compiler[0], strerror(error));
    protocol_line("note compiler %s", version[0] != '\0' ? version : compiler[0]);
    return compiler;
}
