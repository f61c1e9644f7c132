/*
 * The way out of the machine: frames on a guest's second serial port, or on standard output (docs/FORMATS.md, "What a guest says").
 *
 * A frame is a line `KIND LENGTH TEXT`, LENGTH being the bytes of TEXT, so that a reader sees one that was cut off.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the port and says hello. Ends the process when there is no port: nothing could be told then. */
void channel_open(void);

/* Makes standard output the channel, on a machine that is reached over SSH, and says hello; false, and errno set, when that fails. */
bool channel_take_output(void);

/* Sends a frame; the text must not hold a line's end. */
void channel_send(const char *kind, const void *text, size_t length);

/* The same with a formatted text of at most CHANNEL_TEXT_BYTES. */
enum { CHANNEL_TEXT_BYTES = 512 };
void channel_print(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells that the agent itself failed at `step`, with errno in words. */
void channel_failed(const char *step, int error);

/* Ends a line that a killed process may have begun. */
void channel_break_line(void);

/* Waits until all that was sent has left the guest. */
void channel_drain(void);

#endif
