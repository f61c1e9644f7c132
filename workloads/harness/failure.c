/* See failure.h. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ending.h"
#include "protocol.h"

enum { TEXT_BYTES = 512 };

static _Noreturn void report(const char *kind, const char *step, int error, const char *text, int status)
{
    protocol_line("failure %s %s %d %s", kind, step, error, text);
    fprintf(stderr, "%s: %s\n", step, text);
    ending_exit(status);
}

void failure_arguments(const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nhint: %s\n", hint);
    ending_exit(EXIT_BAD_ARGUMENTS);
}

void failure_os(const char *step, int error)
{
    report("os", step, error, strerror(error), EXIT_SYSTEM_CALL);
}

void failure_os_text(const char *step, int error, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report("os", step, error, text, EXIT_SYSTEM_CALL);
}

void failure_unsupported(const char *step, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report("unsupported", step, 0, text, EXIT_UNSUPPORTED);
}
