/*
 * The lab's requests on standard input (docs/FORMATS.md, "A host's agent"): a line `KIND LENGTH
 * REST`, then LENGTH bytes.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

enum { REQUEST_KIND_BYTES = 16, REQUEST_REST_BYTES = 256 };

struct request {
    char kind[REQUEST_KIND_BYTES];
    char rest[REQUEST_REST_BYTES];
    size_t length;
    char *bytes; /* with a NUL byte after them; the caller frees them */
};

/*
 * Waits for the next request. False at the end of the input, after an hour without a request, or
 * for a malformed request. For the last, and without memory, sends `failed`.
 */
bool request_read(struct request *request);

#endif
