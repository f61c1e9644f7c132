/*
 * The interface of the lab: a page allocator and a buffer cache. All functions may be called on all
 * CPUs at once; `cpu` is the number of the calling one.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS 4
#define LINE_BYTES 64

#define PAGES 64
#define PAGE_BYTES 4096

/* Takes over PAGES pages from `memory` on. Called once, before anything else. */
void pages_start(char *memory);

/*
 * Returns a page that no CPU holds, or NULL if all PAGES are held. If hardly any page is free while
 * others take and give back pages, it may return NULL too.
 */
void *page_get(unsigned cpu);

/* Gives a page back. Any CPU may give back any page. */
void page_put(unsigned cpu, void *page);

#define BUFFERS 32
#define BLOCK_BYTES 512

/* A block of the disk in memory. The data stay unchanged while a CPU holds the buffer. */
struct buffer {
    unsigned block;
    /* Number of CPUs that hold it. */
    unsigned users;
    bool has_block;
    struct buffer *next;
    /* Time of its last use. */
    unsigned used;
    char data[BLOCK_BYTES];
};

/* Called once, before other functions of the cache. */
void buffers_start(void);

/*
 * Returns the buffer of a block, and reads the block if it is not in the cache. A block has one
 * buffer, however many CPUs hold it. Returns NULL only if all BUFFERS buffers hold other blocks and
 * are held.
 */
struct buffer *buffer_get(unsigned cpu, unsigned block);

/* Gives a buffer back; others may still hold it. */
void buffer_put(unsigned cpu, struct buffer *buffer);

/* Reads a block from the disk. The grader provides it. */
void disk_read(unsigned block, char *data);

#endif
