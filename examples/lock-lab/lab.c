/*
 * A page allocator and a buffer cache, each with one lock. They are correct and do not scale: all
 * CPUs pass the same cache lines around. The exercise (README.md) is to change this file, and
 * nothing else, so that they scale and stay correct.
 */
#include "lab.h"
#include "lock.h"

/* A free page; the link is in the page itself. */
struct free_page {
    struct free_page *next;
};

static struct {
    struct lock lock;
    struct free_page *first;
} pages;

void pages_start(char *memory)
{
    for (unsigned i = 0; i < PAGES; i++)
        page_put(0, memory + i * PAGE_BYTES);
}

void *page_get(unsigned cpu)
{
    (void)cpu;
    lock_take(&pages.lock);
    struct free_page *page = pages.first;
    if (page)
        pages.first = page->next;
    lock_release(&pages.lock);
    return page;
}

void page_put(unsigned cpu, void *page)
{
    (void)cpu;
    struct free_page *free = page;
    lock_take(&pages.lock);
    free->next = pages.first;
    pages.first = free;
    lock_release(&pages.lock);
}

static struct {
    struct lock lock;
    /* All buffers. */
    struct buffer *first;
    /* Number of uses so far. */
    unsigned uses;
    struct buffer all[BUFFERS];
} cache;

void buffers_start(void)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        cache.all[i].next = cache.first;
        cache.first = &cache.all[i];
    }
}

/* The buffer of a block; NULL if the block is not in the cache. */
static struct buffer *find(unsigned block)
{
    for (struct buffer *buffer = cache.first; buffer; buffer = buffer->next)
        if (buffer->has_block && buffer->block == block)
            return buffer;
    return NULL;
}

/* Of the buffers that no CPU holds, the one that was used longest ago. */
static struct buffer *oldest(void)
{
    struct buffer *found = NULL;
    for (struct buffer *buffer = cache.first; buffer; buffer = buffer->next)
        if (buffer->users == 0 && (!found || buffer->used < found->used))
            found = buffer;
    return found;
}

struct buffer *buffer_get(unsigned cpu, unsigned block)
{
    (void)cpu;
    lock_take(&cache.lock);
    struct buffer *buffer = find(block);
    if (!buffer) {
        buffer = oldest();
        if (buffer) {
            buffer->block = block;
            buffer->has_block = true;
            disk_read(block, buffer->data);
        }
    }
    if (buffer)
        buffer->users++;
    lock_release(&cache.lock);
    return buffer;
}

void buffer_put(unsigned cpu, struct buffer *buffer)
{
    (void)cpu;
    lock_take(&cache.lock);
    buffer->users--;
    buffer->used = ++cache.uses;
    lock_release(&cache.lock);
}
