/*
 * Lines of the protocol `faultline-workload 1` (docs/FORMATS.md) on standard output: each is written whole, at once.
 * When standard output takes no more, the execution ends with status 71.
 */
#ifndef FAULTLINE_PROTOCOL_H
#define FAULTLINE_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

/* printf-style; the newline is added. Bytes outside printable ASCII become `?`; a line too long for the format is cut. */
void protocol_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `KEYWORD FROM TO OPS…`, KEYWORD being warmup or interval. */
void protocol_interval(const char *keyword, uint64_t from_ns, uint64_t to_ns, const uint64_t *operations, size_t tasks);

#endif
