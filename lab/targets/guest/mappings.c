/* See mappings.h. */
#include "mappings.h"

#if defined(__linux__)

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "channel.h"

enum {
    RING_PAGES = 16, /* a power of two: some hundreds of records between two calls */
    KERNEL_THREADS_PARENT = 2, /* the process from which the kernel forks its own threads */
    RECORD_BYTES = 8192, /* more than any record has: a path is the largest part */
};

/* The kernel's records of one CPU (perf_event_open(2)). */
struct ring {
    int event;
    struct perf_event_mmap_page *head; /* a page, then RING_PAGES pages of records */
};

static struct ring *rings;
static size_t ring_count;
static size_t page_bytes;
static unsigned long processes;
static unsigned long lost;

static bool ring_open(struct ring *ring, int cpu)
{
    struct perf_event_attr what = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof what,
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1, /* of code only */
        .task = 1,
    };
    ring->event = (int)syscall(SYS_perf_event_open, &what, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->event < 0)
        return false;
    void *memory = mmap(NULL, (1 + RING_PAGES) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->event, 0);
    ring->head = memory;
    if (memory != MAP_FAILED)
        return true;
    int error = errno;
    close(ring->event);
    errno = error;
    return false;
}

void mappings_watch(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    rings = calloc(cpus, sizeof *rings);
    processes = lost = 0;
    for (ring_count = 0; rings != NULL && ring_count < cpus; ring_count++)
        if (!ring_open(&rings[ring_count], (int)ring_count)) {
            channel_print("no-maps", "perf_event_open: %s", strerror(errno));
            break;
        }
}

/* A mapping of code: address, length, offset in the file, and the file. */
static void send_map(const unsigned char *body)
{
    struct {
        uint32_t process, thread;
        uint64_t address, length, offset;
    } map;
    char text[RECORD_BYTES];
    memcpy(&map, body, sizeof map);
    const char *path = (const char *)body + sizeof map; /* the kernel ends it with zeros */
    if (path[0] != '/' || path[1] == '/')
        return; /* the kernel's own code for programs, or anonymous memory */
    int length = snprintf(text, sizeof text, "%" PRIu32 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %s", map.process,
                          map.address, map.length, map.offset, path);
    if (length > 0 && length < (int)sizeof text && strchr(path, '\n') == NULL)
        channel_send("map", text, (size_t)length);
}

static void note_fork(const unsigned char *body)
{
    struct {
        uint32_t process, parent;
    } fork;
    memcpy(&fork, body, sizeof fork);
    processes += fork.process != fork.parent /* else it is a thread */ && fork.parent != KERNEL_THREADS_PARENT;
}

static void note_lost(const unsigned char *body)
{
    uint64_t words[2]; /* the event's number, how many records */
    memcpy(words, body, sizeof words);
    lost += words[1];
}

static void take(const unsigned char *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    const unsigned char *body = record + sizeof header;
    if (header.type == PERF_RECORD_MMAP)
        send_map(body);
    else if (header.type == PERF_RECORD_FORK)
        note_fork(body);
    else if (header.type == PERF_RECORD_LOST)
        note_lost(body);
}

/* Takes all records of a ring. A record that wraps around its end is assembled first. */
static void drain(struct ring *ring)
{
    static unsigned char whole[RECORD_BYTES];
    const unsigned char *data = (const unsigned char *)ring->head + page_bytes;
    uint64_t size = RING_PAGES * page_bytes;
    uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->head->data_tail;
    while (tail < head) {
        struct perf_event_header header; /* never wraps around: records are multiples of eight bytes */
        memcpy(&header, data + tail % size, sizeof header);
        if (header.size < sizeof header || header.size > sizeof whole)
            break;
        uint64_t first = size - tail % size < header.size ? size - tail % size : header.size;
        memcpy(whole, data + tail % size, first);
        memcpy(whole + first, data, header.size - first);
        take(whole);
        tail += header.size;
    }
    __atomic_store_n(&ring->head->data_tail, head, __ATOMIC_RELEASE);
}

void mappings_send(void)
{
    for (size_t i = 0; i < ring_count; i++)
        drain(&rings[i]);
}

void mappings_end(void)
{
    mappings_send();
    for (size_t i = 0; i < ring_count; i++) {
        munmap(rings[i].head, (1 + RING_PAGES) * page_bytes);
        close(rings[i].event);
    }
    free(rings);
    rings = NULL;
    if (lost > 0)
        channel_print("no-maps", "the kernel dropped %lu records", lost);
    if (ring_count > 0)
        channel_print("processes", "%lu", processes);
    ring_count = 0;
}

enum { LONGEST_LINE_BYTES = 4096, LONGEST_TEXT_BYTES = LONGEST_LINE_BYTES + 64 };

#define PREFIX "/tmp/perf-"

/* A line: address and size of a function in hexadecimal, then its name. */
static void send_line(unsigned long process, char *line)
{
    char text[LONGEST_TEXT_BYTES], *after, *name;
    uint64_t address = strtoull(line, &after, 16);
    uint64_t length = strtoull(after, &name, 16);
    if (after == line || name == after || length == 0 || name[0] != ' ' || name[1] == '\0')
        return;
    int bytes = snprintf(text, sizeof text, "%lu %" PRIx64 " %" PRIx64 " %s", process, address, length, name + 1);
    if (bytes > 0 && bytes < (int)sizeof text)
        channel_send("generated", text, (size_t)bytes);
}

/* A line without its end is incomplete or too long. */
static void send_file(unsigned long process, FILE *file)
{
    char line[LONGEST_LINE_BYTES];
    bool is_rest = false;
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        if (end != NULL && !is_rest)
            send_line(process, line);
        is_rest = end == NULL;
    }
}

void generated_send(void)
{
    glob_t found;
    if (glob(PREFIX "*.map", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *after;
        unsigned long process = strtoul(found.gl_pathv[i] + strlen(PREFIX), &after, 10);
        FILE *file = strcmp(after, ".map") == 0 ? fopen(found.gl_pathv[i], "re") : NULL;
        if (file == NULL)
            continue;
        send_file(process, file);
        fclose(file);
    }
    globfree(&found);
}

#endif
