/*
 * The measured part: a kernel without an operating system under it (machine/), which the lens
 * counts. The word on its command line, `pages` or `buffers`, selects what its CPUs use.
 */
#include "faultline_mark.h"
#include "lab.h"
#include "machine.h"

/* Blocks that each CPU uses, one after the other; all of them fit in the cache. */
#define BLOCKS_PER_CPU 4

/* Words of a page or of a block that each operation uses. */
#define WORDS 128

/* Operations before the region, which fill caches and lists. */
#define FIRST_OPERATIONS 100

/* A counter on its own line. */
struct counter {
    unsigned count;
} __attribute__((aligned(128)));

static struct counter ready, finished;
static bool uses_buffers;
static char memory[PAGES * PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

void disk_read(unsigned block, char *data)
{
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        data[i] = (char)(block + i);
}

/*
 * Compilers call these four for loops and assignments. Each writes or reads through a volatile
 * pointer, because a compiler could replace a plain loop by a call of the function that has it.
 */
void *memset(void *to, int byte, size_t bytes)
{
    for (volatile char *at = to; bytes-- > 0;)
        *at++ = (char)byte;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    volatile char *target = to;
    const char *source = from;
    if ((uintptr_t)to <= (uintptr_t)from)
        for (size_t i = 0; i < bytes; i++)
            target[i] = source[i];
    else
        while (bytes-- > 0)
            target[bytes] = source[bytes];
    return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    return memmove(to, from, bytes);
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const volatile unsigned char *a = one, *b = other;
    for (; bytes > 0; bytes--, a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}

static void stop(const char *why)
{
    print(why);
    halt();
}

static void use_page(unsigned cpu)
{
    volatile uint32_t *page = page_get(cpu);
    if (!page)
        stop("there is no page\n");
    for (unsigned i = 0; i < 2 * WORDS; i++)
        page[i] = i;
    page_put(cpu, (void *)page);
}

static void use_buffer(unsigned cpu, unsigned operation)
{
    struct buffer *buffer = buffer_get(cpu, cpu * BLOCKS_PER_CPU + operation % BLOCKS_PER_CPU);
    if (!buffer)
        stop("there is no buffer\n");
    const volatile uint32_t *data = (const volatile uint32_t *)buffer->data;
    for (unsigned i = 0; i < 2 * WORDS; i++)
        (void)data[i % WORDS];
    buffer_put(cpu, buffer);
}

static void operate(unsigned cpu, unsigned operations)
{
    for (unsigned i = 0; i < operations; i++) {
        if (uses_buffers)
            use_buffer(cpu, i);
        else
            use_page(cpu);
    }
}

/* Waits until all CPUs have arrived. */
static void meet(struct counter *counter)
{
    __atomic_add_fetch(&counter->count, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&counter->count, __ATOMIC_ACQUIRE) < cpu_count())
        pause();
}

static void work(unsigned cpu)
{
    operate(cpu, FIRST_OPERATIONS);
    meet(&ready);
    if (cpu == 0)
        faultline_mark_begin();
    operate(cpu, OPERATIONS);
    meet(&finished);
    if (cpu == 0)
        faultline_mark_end();
}

void kernel(const char *words)
{
    for (; *words; words++)
        uses_buffers |= words[0] == ' ' && words[1] == 'b';
    if (cpu_count() != CPUS)
        stop("the firmware lacks CPUs in its table\n");
    pages_start(memory);
    buffers_start();
    on_each_cpu(work);
}
