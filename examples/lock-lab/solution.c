/* Lists and locks of each CPU for pages; a lock for each set of blocks for buffers. */
#include "lab.h"
#include "lock.h"

#define ON_OWN_LINES __attribute__((aligned(LINE_BYTES)))

struct free_page {
    struct free_page *next;
};

static struct {
    struct lock lock;
    struct free_page *first;
} ON_OWN_LINES pages[CPUS];

void pages_start(char *memory)
{
    for (unsigned i = 0; i < PAGES; i++)
        page_put(i % CPUS, memory + i * PAGE_BYTES);
}

void *page_get(unsigned cpu)
{
    for (unsigned i = 0; i < CPUS; i++) {
        const unsigned from = (cpu + i) % CPUS;
        lock_take(&pages[from].lock);
        struct free_page *page = pages[from].first;
        if (page)
            pages[from].first = page->next;
        lock_release(&pages[from].lock);
        if (page)
            return page;
    }
    return NULL;
}

void page_put(unsigned cpu, void *page)
{
    struct free_page *free = page;
    lock_take(&pages[cpu].lock);
    free->next = pages[cpu].first;
    pages[cpu].first = free;
    lock_release(&pages[cpu].lock);
}

#define SETS 16

static struct {
    struct lock lock;
    struct buffer *first;
    unsigned uses;
} ON_OWN_LINES sets[SETS];

static union {
    struct buffer buffer;
    char whole_lines[(sizeof(struct buffer) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES];
} ON_OWN_LINES buffers[BUFFERS];

/* Held while a block is brought in; taken before the lock of its set. */
static struct lock misses;

void buffers_start(void)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        struct buffer *buffer = &buffers[i].buffer;
        buffer->next = sets[i % SETS].first;
        sets[i % SETS].first = buffer;
    }
}

/* The buffer of a block, with one more user. The lock of its set is held. */
static struct buffer *hold(unsigned set, unsigned block)
{
    for (struct buffer *buffer = sets[set].first; buffer; buffer = buffer->next)
        if (buffer->has_block && buffer->block == block) {
            buffer->users++;
            return buffer;
        }
    return NULL;
}

/* Takes the oldest free buffer out of a set; NULL if all are held. */
static struct buffer *take_from(unsigned set)
{
    struct buffer **found = NULL;
    lock_take(&sets[set].lock);
    for (struct buffer **link = &sets[set].first; *link; link = &(*link)->next)
        if ((*link)->users == 0 && (!found || (*link)->used < (*found)->used))
            found = link;
    struct buffer *buffer = found ? *found : NULL;
    if (buffer)
        *found = buffer->next;
    lock_release(&sets[set].lock);
    return buffer;
}

struct buffer *buffer_get(unsigned cpu, unsigned block)
{
    const unsigned set = block % SETS;
    (void)cpu;
    lock_take(&sets[set].lock);
    struct buffer *buffer = hold(set, block);
    lock_release(&sets[set].lock);
    if (buffer)
        return buffer;
    lock_take(&misses);
    /* Another CPU may have brought it in. */
    lock_take(&sets[set].lock);
    buffer = hold(set, block);
    lock_release(&sets[set].lock);
    for (unsigned i = 0; i < SETS && !buffer; i++) {
        buffer = take_from((set + i) % SETS);
        if (!buffer)
            continue;
        buffer->block = block;
        buffer->has_block = true;
        buffer->users = 1;
        disk_read(block, buffer->data);
        lock_take(&sets[set].lock);
        buffer->next = sets[set].first;
        sets[set].first = buffer;
        lock_release(&sets[set].lock);
    }
    lock_release(&misses);
    return buffer;
}

void buffer_put(unsigned cpu, struct buffer *buffer)
{
    (void)cpu;
    const unsigned set = buffer->block % SETS;
    lock_take(&sets[set].lock);
    buffer->users--;
    buffer->used = ++sets[set].uses;
    lock_release(&sets[set].lock);
}
