/*
 * Lines of the protocol `faultline-workload 1` (docs/FORMATS.md) on standard output. Each line is
 * written at once. If standard output cannot be written, the execution exits with status 71.
 */
#ifndef FAULTLINE_PROTOCOL_H
#define FAULTLINE_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

/*
 * printf-style; adds the newline. Bytes outside printable ASCII become `?`. A line too long for the
 * format is cut.
 */
void protocol_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `KEYWORD FROM TO OPS…`, where KEYWORD is warmup or interval. */
void protocol_interval(const char *keyword, uint64_t from_ns, uint64_t to_ns, const uint64_t *operations, size_t tasks);

#endif
