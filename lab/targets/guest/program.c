/* See program.h. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"

enum {
    LONGEST_LINE_BYTES = 65536, /* as docs/FORMATS.md has it; a longer one goes out cut, one byte past the limit */
    STDERR_KEPT_BYTES = 4096,
    POLL_MS = 100,
    SILENT_POLLS = 3, /* after the program's end, for what its children may still be writing */
};

struct output {
    int pipe; /* -1 after its end */
    size_t length;
    char bytes[LONGEST_LINE_BYTES + 1];
};

static struct output standard_output;
static struct output standard_error;

static void send_output(size_t length)
{
    channel_send("out", standard_output.bytes, length);
}

/* Sends the whole lines of what has come, and what is too long for one. */
static void send_lines(void)
{
    char *line = standard_output.bytes;
    char *end = line + standard_output.length;
    char *newline;
    while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        channel_send("out", line, (size_t)(newline - line));
        line = newline + 1;
    }
    standard_output.length = (size_t)(end - line);
    memmove(standard_output.bytes, line, standard_output.length);
    if (standard_output.length == sizeof standard_output.bytes) {
        send_output(standard_output.length);
        standard_output.length = 0;
    }
}

/* Makes room by letting go of what came first. */
static void keep_end(void)
{
    if (standard_error.length <= STDERR_KEPT_BYTES)
        return;
    size_t excess = standard_error.length - STDERR_KEPT_BYTES;
    memmove(standard_error.bytes, standard_error.bytes + excess, STDERR_KEPT_BYTES);
    standard_error.length = STDERR_KEPT_BYTES;
}

static void take(struct output *output)
{
    ssize_t got = read(output->pipe, output->bytes + output->length, sizeof output->bytes - output->length);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        close(output->pipe);
        output->pipe = -1;
        return;
    }
    output->length += (size_t)got;
    if (output == &standard_output)
        send_lines();
    else
        keep_end();
}

/* Reaps whoever has died: as the first process we inherit orphans. True once `program` has, with its status. */
static bool has_ended(pid_t program, int *status)
{
    pid_t died;
    int its_status;
    bool ended = false;
    while ((died = waitpid(-1, &its_status, WNOHANG)) > 0)
        if (died == program) {
            *status = its_status;
            ended = true;
        }
    return ended;
}

/* Forwards until the program has ended and its output is closed, or silent. */
static int forward(pid_t program)
{
    bool ended = false;
    int status = 0;
    int silent = 0;
    while (!ended || ((standard_output.pipe >= 0 || standard_error.pipe >= 0) && silent < SILENT_POLLS)) {
        struct pollfd pipes[] = {
            {.fd = standard_output.pipe, .events = POLLIN},
            {.fd = standard_error.pipe, .events = POLLIN},
        };
        /* poll() leaves out descriptors below zero, and rests when both are. */
        int ready = poll(pipes, 2, POLL_MS);
        silent = ready > 0 ? 0 : silent + ended;
        if (pipes[0].revents != 0)
            take(&standard_output);
        if (pipes[1].revents != 0)
            take(&standard_error);
        ended = ended || has_ended(program, &status);
    }
    return status;
}

static void send_last_words(void)
{
    char *line = standard_error.bytes;
    char *end = line + standard_error.length;
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *stop = newline != NULL ? newline : end;
        channel_send("err", line, (size_t)(stop - line));
        line = stop + 1;
    }
}

static _Noreturn void become(char **words, int output, int error, int failure)
{
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    execv(words[0], words);
    int reason = errno;
    ssize_t told = write(failure, &reason, sizeof reason); /* a pipe takes four bytes whole */
    (void)told;
    _exit(EXIT_FAILURE);
}

static bool make_pipe(int *reader, int *writer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *reader = ends[0];
    *writer = ends[1];
    return true;
}

void program_run(char **words)
{
    standard_output.length = standard_error.length = 0;
    channel_print("program", "%s", words[0]);
    int output, error, failure, failure_reader;
    if (!make_pipe(&standard_output.pipe, &output) || !make_pipe(&standard_error.pipe, &error) ||
        !make_pipe(&failure_reader, &failure)) {
        channel_failed("pipe", errno);
        return;
    }
    pid_t program = fork();
    if (program == 0)
        become(words, output, error, failure);
    int fork_error = errno;
    close(output);
    close(error);
    close(failure);
    int reason;
    if (program < 0) {
        channel_failed("fork", fork_error);
    } else if (read(failure_reader, &reason, sizeof reason) == (ssize_t)sizeof reason) { /* closed by a good exec */
        waitpid(program, NULL, 0);
        channel_print("not-started", "%s: %s", words[0], strerror(reason));
    } else {
        int status = forward(program);
        if (standard_output.length > 0)
            send_output(standard_output.length); /* a last line without its end */
        send_last_words();
        if (WIFSIGNALED(status))
            channel_print("signal", "%d", WTERMSIG(status));
        else
            channel_print("exit", "%d", WEXITSTATUS(status));
    }
    close(failure_reader);
    if (standard_output.pipe >= 0)
        close(standard_output.pipe);
    if (standard_error.pipe >= 0)
        close(standard_error.pipe);
}
