/* See program.h. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "faultline_mark.h"

enum {
    LONGEST_LINE_BYTES = 65536, /* as in docs/FORMATS.md; a longer line is cut one byte past the limit */
    STDERR_KEPT_BYTES = 4096,
    POLL_MS = 100,
    SILENT_POLLS = 3, /* after the program's end, for output of its children */
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

/* Sends complete lines, and the beginning of a line that is too long. */
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

/* Makes room by discarding the oldest bytes. */
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

/* Reaps dead children, including adopted orphans where the system has them. */
void program_reap(struct program *program)
{
    pid_t died;
    int status;
    while ((died = waitpid(-1, &status, WNOHANG)) > 0)
        if (died == program->process) {
            program->status = status;
            program->has_ended = true;
        }
    program->is_alone = died < 0 && errno == ECHILD;
}

bool program_take(void)
{
    struct pollfd pipes[] = {
        {.fd = standard_output.pipe, .events = POLLIN},
        {.fd = standard_error.pipe, .events = POLLIN},
    };
    /* poll() ignores descriptors below zero, and pauses if both are. */
    bool took = poll(pipes, 2, POLL_MS) > 0;
    if (pipes[0].revents != 0)
        take(&standard_output);
    if (pipes[1].revents != 0)
        take(&standard_error);
    return took;
}

bool program_may_speak(void)
{
    return standard_output.pipe >= 0 || standard_error.pipe >= 0;
}

/* Forwards output until the program has ended and its output is closed or silent. */
static void forward(struct program *program)
{
    int silent = 0;
    while (!program->has_ended || (program_may_speak() && silent < SILENT_POLLS)) {
        bool took = program_take();
        silent = took ? 0 : silent + program->has_ended;
        program_reap(program);
    }
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

/* Becomes the program. Returns with errno set on failure. */
static void become(char **words, int output, int error)
{
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    execv(words[0], words);
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

static _Noreturn void start(const struct program_way *way, int output, int error, int failure)
{
    if (way->directory == NULL || chdir(way->directory) == 0) {
        if (way->is_marked)
            faultline_mark_begin();
        become(way->words, output, error);
    }
    int reason = errno;
    ssize_t written = write(failure, &reason, sizeof reason); /* a pipe takes four bytes at once */
    (void)written;
    _exit(EXIT_FAILURE);
}

static void send_end(int status)
{
    if (standard_output.length > 0)
        send_output(standard_output.length); /* an incomplete last line */
    send_last_words();
    if (WIFSIGNALED(status))
        channel_print("signal", "%d", WTERMSIG(status));
    else
        channel_print("exit", "%d", WEXITSTATUS(status));
}

void program_run_in(const struct program_way *way)
{
    char **words = way->words;
    standard_output.length = standard_error.length = 0;
    channel_print("program", "%s", words[0]);
    int output, error, failure, failure_reader;
    if (!make_pipe(&standard_output.pipe, &output) || !make_pipe(&standard_error.pipe, &error) ||
        !make_pipe(&failure_reader, &failure)) {
        channel_failed("pipe", errno);
        return;
    }
    struct program program = {.process = fork()};
    if (program.process == 0)
        start(way, output, error, failure);
    int fork_error = errno;
    close(output);
    close(error);
    close(failure);
    int reason;
    if (program.process < 0) {
        channel_failed("fork", fork_error);
    } else if (read(failure_reader, &reason, sizeof reason) == (ssize_t)sizeof reason) { /* closed by a successful exec */
        waitpid(program.process, NULL, 0);
        channel_print("not-started", "%s: %s", words[0], strerror(reason));
    } else {
        (way->follow != NULL ? way->follow : forward)(&program);
        send_end(program.status);
    }
    close(failure_reader);
    if (standard_output.pipe >= 0)
        close(standard_output.pipe);
    if (standard_error.pipe >= 0)
        close(standard_error.pipe);
}

void program_run(char **words)
{
    program_run_in(&(struct program_way){.words = words});
}
