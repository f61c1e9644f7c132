/*
 * Checks that the lab's functions are correct: in many orders of four threads, without data races,
 * and to the last page and buffer. Usage: check pages|buffers
 */
#include "lab.h"
#include "schedule.h"

#include <stdio.h>
#include <string.h>

/* Orders of the threads that are tried. */
#define SEEDS 60
/* Operations of each thread in an order. */
#define OPERATIONS 40
/* Pages or buffers that a thread holds at once. */
#define HELD 3
/* Blocks that the threads use: more than there are buffers. */
#define BLOCKS 48

static char memory[PAGES * PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

static char byte_of(unsigned block, unsigned at)
{
    return (char)(block * 31 + at);
}

void disk_read(unsigned block, char *data)
{
    note_writes(data, 16);
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        data[i] = byte_of(block, i);
}

/* Number of holders of each page. */
static unsigned holders[PAGES];

static unsigned number_of(const void *page)
{
    const size_t offset = (size_t)((const char *)page - memory);
    if ((const char *)page < memory || offset >= sizeof memory || offset % PAGE_BYTES != 0)
        wrong("page_get returns something that is no page");
    return (unsigned)(offset / PAGE_BYTES);
}

static void *hold_page(unsigned thread)
{
    void *page = page_get(thread);
    if (page && holders[number_of(page)]++)
        wrong("page_get returns a page that is held");
    return page;
}

static void release_page(unsigned thread, void *page)
{
    holders[number_of(page)]--;
    page_put(thread, page);
}

/* Pages are so scarce that threads need those of others. Then none may be found for a while. */
static bool are_scarce;

static void use_pages(unsigned thread)
{
    void *held[HELD] = {0};
    for (unsigned i = 0; i < OPERATIONS; i++) {
        void **place = &held[i % HELD];
        if (*place)
            release_page(thread, *place);
        *place = hold_page(thread);
        if (*place)
            note_writes(*place, 32);
        else if (!are_scarce)
            wrong("page_get returns NULL although pages are free");
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            release_page(thread, held[i]);
}

/* One CPU gets all pages, wherever they were put, and no more. */
static void take_all_pages(unsigned cpu)
{
    void *all[PAGES];
    for (unsigned i = 0; i < PAGES; i++)
        if (!(all[i] = hold_page(cpu)))
            wrong("CPU %u gets only %u of %u pages", cpu, i, PAGES);
    if (hold_page(cpu))
        wrong("there are more pages than %u", PAGES);
    for (unsigned i = 0; i < PAGES; i++)
        release_page((cpu + i) % CPUS, all[i]);
}

static void check_pages(void)
{
    pages_start(memory);
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        void *kept[PAGES - THREADS * HELD];
        const unsigned keeps = seed % 2 ? sizeof kept / sizeof *kept : 0;
        are_scarce = keeps > 0;
        for (unsigned i = 0; i < keeps; i++)
            if (!(kept[i] = hold_page(seed / 2 % CPUS)))
                wrong("CPU %u gets only %u of %u pages", seed / 2 % CPUS, i, PAGES);
        run_threads(seed, use_pages);
        for (unsigned i = 0; i < keeps; i++)
            release_page(seed % CPUS, kept[i]);
        take_all_pages(seed % CPUS);
    }
}

/* The buffer that holds each block at present, and by how many threads. */
static struct {
    struct buffer *buffer;
    unsigned holders;
} in_use[BLOCKS + BUFFERS];

static struct buffer *hold_buffer(unsigned cpu, unsigned block)
{
    struct buffer *buffer = buffer_get(cpu, block);
    if (!buffer)
        wrong("buffer_get returns NULL although buffers are free");
    note_reads(buffer->data, 16);
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        if (buffer->data[i] != byte_of(block, i))
            wrong("a buffer has the data of another block");
    if (in_use[block].holders++ > 0 && in_use[block].buffer != buffer)
        wrong("a block has two buffers");
    in_use[block].buffer = buffer;
    return buffer;
}

static void release_buffer(unsigned cpu, unsigned block, struct buffer *buffer)
{
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        if (buffer->data[i] != byte_of(block, i))
            wrong("the data of a buffer change while it is held");
    in_use[block].holders--;
    buffer_put(cpu, buffer);
}

static unsigned order;

static void use_buffers(unsigned thread)
{
    struct buffer *held[HELD] = {0};
    unsigned blocks[HELD];
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const unsigned place = i % HELD;
        if (held[place])
            release_buffer(thread, blocks[place], held[place]);
        /* Threads use the same blocks at nearly the same time, and all blocks in all. */
        blocks[place] = (order * 7 + i + i * thread % 3) % BLOCKS;
        held[place] = hold_buffer(thread, blocks[place]);
    }
    for (unsigned i = 0; i < HELD; i++)
        release_buffer(thread, blocks[i], held[i]);
}

/* All buffers may hold any blocks at once. `step`: distance of the blocks. */
static void fill_buffers(unsigned cpu, unsigned first, unsigned step)
{
    struct buffer *all[BUFFERS];
    for (unsigned i = 0; i < BUFFERS; i++)
        all[i] = hold_buffer(cpu, (first + i * step) % (BLOCKS + BUFFERS));
    for (unsigned i = 0; i < BUFFERS; i++)
        release_buffer(cpu, (first + i * step) % (BLOCKS + BUFFERS), all[i]);
}

static void check_buffers(void)
{
    buffers_start();
    for (order = 0; order < SEEDS; order++) {
        run_threads(order, use_buffers);
        fill_buffers(order % CPUS, order, order % 2 ? 1 : 2);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "pages") == 0)
        check_pages();
    else if (argc == 2 && strcmp(argv[1], "buffers") == 0)
        check_buffers();
    else
        return 2;
    printf("correct\n");
    return 0;
}
