/*
 * The way out of the guest: frames on its second serial port (docs/FORMATS.md, "What a guest says").
 *
 * A frame is a line `KIND LENGTH TEXT`, LENGTH being the bytes of TEXT, so that a reader sees one that was cut off.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stddef.h>

/* Opens the port and says hello. Ends the process when there is no port: nothing could be told then. */
void channel_open(void);

/* Sends a frame; the text must not hold a line's end. */
void channel_send(const char *kind, const void *text, size_t length);

/* The same with a formatted text of at most CHANNEL_TEXT_BYTES. */
enum { CHANNEL_TEXT_BYTES = 512 };
void channel_print(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells that the agent itself failed at `step`, with errno in words. */
void channel_failed(const char *step, int error);

/* Waits until all that was sent has left the guest. */
void channel_drain(void);

#endif
