/*
 * The output channel of the machine: frames on a guest's second serial port, or on standard output
 * (docs/FORMATS.md, "A guest's output").
 *
 * A frame is a line `KIND LENGTH TEXT`. LENGTH is the number of bytes of TEXT, so a reader notices
 * an incomplete frame.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens the port and sends a hello. Ends the process without a port: then no error can be reported.
 */
void channel_open(void);

/*
 * Makes standard output the channel, on a machine that is reached over SSH, and sends a hello.
 * False with errno set on failure.
 */
bool channel_take_output(void);

/* Sends a frame. The text must not contain a line end. */
void channel_send(const char *kind, const void *text, size_t length);

/* Sends a frame with a formatted text of at most CHANNEL_TEXT_BYTES. */
enum { CHANNEL_TEXT_BYTES = 512 };
void channel_print(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports that the agent itself failed at `step`, with errno as a text. */
void channel_failed(const char *step, int error);

/* Ends a line that a killed process may have begun. */
void channel_break_line(void);

/* Waits until all frames have left the guest. */
void channel_drain(void);

#endif
