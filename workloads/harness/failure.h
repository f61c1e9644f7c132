/*
 * Failures of an execution, and their exit statuses. Only the coordinator calls these. A task calls
 * task_fail() (task.h), and the coordinator reports that failure through here.
 */
#ifndef FAULTLINE_FAILURE_H
#define FAULTLINE_FAILURE_H

enum { EXIT_BAD_ARGUMENTS = 64, EXIT_UNSUPPORTED = 69, EXIT_SYSTEM_CALL = 71 };

/* Bad arguments: one line and a hint on standard error. No output may precede it. */
_Noreturn void failure_arguments(const char *hint, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `failure os STEP ERRNO TEXT`; TEXT is strerror of errno. */
_Noreturn void failure_os(const char *step, int error);

/*
 * `failure os` with the caller's text, for failures without errno (a child's exit status takes its
 * place).
 */
_Noreturn void failure_os_text(const char *step, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* `failure unsupported STEP 0 TEXT`. */
_Noreturn void failure_unsupported(const char *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
