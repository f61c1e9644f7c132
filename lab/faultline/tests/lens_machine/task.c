/*
 * The first and only task of GNU Mach, without libraries. In each operation, a thread maps, touches
 * and unmaps a page, and increments two words: its own, and one shared by all threads. With an
 * argument, the port for the kernel's processors, there are two threads. The second runs in the set
 * of all processors but the first. The region of interest is their common work.
 */
#include <stddef.h>
#include <stdint.h>

#include "faultline_mark.h"

#define PAGE_BYTES 4096
#define STACK_BYTES 16384

/* Traps, with their numbers from mach/syscall_sw.h. */
long mach_msg(void *message, long option, long send_bytes, long receive_bytes, long receive_port, long timeout_ms, long notify);
long mach_reply_port(void);
long mach_task_self(void);
long mach_print(const char *text);
long vm_allocate(long task, uintptr_t *address, size_t bytes, long anywhere);
long vm_deallocate(long task, uintptr_t address, size_t bytes);

#define TRAP(name, number) \
    __asm__(".globl " #name "\n" #name ": mov $" #number ", %rax\n mov %rcx, %r10\n syscall\n ret\n")
TRAP(mach_msg, -25);
TRAP(mach_reply_port, -26);
TRAP(mach_task_self, -28);
TRAP(mach_print, -30);
TRAP(vm_allocate, -65);
TRAP(vm_deallocate, -66);

/* Entry point; the arguments are on the stack. */
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

/* Messages to the kernel, as declared in mach/message.h for 64 bits. */
struct header {
    uint32_t bits, bytes;
    uint64_t remote, local;
    uint32_t sequence;
    int32_t id;
};

/*
 * Header of an item in a message: its kind, bits per element, inline flag, and number of elements.
 */
#define ITEM(kind, bits, is_inline, number) ((uint64_t)(kind) | (uint64_t)(bits) << 8 | (uint64_t)(is_inline) << 29 | (uint64_t)(number) << 32)
enum { INTEGER_32 = 2, COPY_SEND = 19, MAKE_SEND_ONCE = 21, SEND_AND_RECEIVE = 3 };
/* Flag of a message that carries a port. */
#define COMPLEX 0x80000000u

/* The kernel's calls, with their numbers from gnumach.msgids. */
enum { THREAD_CREATE = 2061, THREAD_SET_STATE = 2018, THREAD_RESUME = 2063, THREAD_ASSIGN = 2613, PROCESSOR_SETS = 2629, PROCESSOR_SET = 2630 };

static void fail(const char *what)
{
    mach_print(what);
    mach_print(" failed\n");
    for (;;)
        __asm__ volatile("pause");
}

/* Calls the kernel. Returns the part of its reply after the status. */
static uint64_t *call(int id, uint64_t port, const uint64_t *words, size_t count, const char *what)
{
    static struct {
        struct header header;
        uint64_t words[64];
    } message;
    const uint32_t complex = count > 0 && (words[0] & 0xff) == COPY_SEND ? COMPLEX : 0;
    message.header =
        (struct header){complex | MAKE_SEND_ONCE << 8 | COPY_SEND, sizeof(struct header) + 8 * count, port, mach_reply_port(), 0, id};
    for (size_t i = 0; i < count; i++)
        message.words[i] = words[i];
    if (mach_msg(&message, SEND_AND_RECEIVE, message.header.bytes, sizeof message, message.header.local, 0, 0) != 0 || (int32_t)message.words[1] != 0)
        fail(what);
    return &message.words[2];
}

/* A word on its own cache line. */
struct lonely {
    uint64_t word;
} __attribute__((aligned(128)));

struct lonely shared;
struct lonely own[2];
struct lonely ready;
struct lonely go;
struct lonely finished;

static void work(int thread)
{
    const long task = mach_task_self();
    for (int i = 0; i < OPERATIONS; i++) {
        uintptr_t address = 0;
        if (vm_allocate(task, &address, PAGE_BYTES, 1) != 0)
            fail("vm_allocate");
        *(volatile char *)address = 1;
        if (vm_deallocate(task, address, PAGE_BYTES) != 0)
            fail("vm_deallocate");
        own[thread].word++;
        __atomic_add_fetch(&shared.word, 1, __ATOMIC_RELAXED);
    }
}

/* Waits until a word has this value. */
static void await(const struct lonely *place, uint64_t value)
{
    while (__atomic_load_n(&place->word, __ATOMIC_ACQUIRE) != value)
        __asm__ volatile("pause");
}

static void increment(struct lonely *place)
{
    __atomic_add_fetch(&place->word, 1, __ATOMIC_ACQ_REL);
}

static void second(void)
{
    /* The first operations allocate missing page tables. */
    work(1);
    increment(&ready);
    await(&go, 1);
    work(1);
    increment(&finished);
    await(&go, 2);
}

/* Starts a thread at `second`, on the other processors. */
static void start_second(uint64_t host)
{
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    const uint64_t *reply = call(PROCESSOR_SETS, host, NULL, 0, "host_processor_sets");
    const uint32_t *sets = (const uint32_t *)reply[1];
    if (reply[0] >> 32 < 2)
        fail("a second processor");
    const uint64_t name[] = {ITEM(COPY_SEND, 64, 1, 1), sets[1]};
    const uint64_t set = (uint32_t)call(PROCESSOR_SET, host, name, 2, "host_processor_set_priv")[1];
    const uint64_t thread = (uint32_t)call(THREAD_CREATE, mach_task_self(), NULL, 0, "thread_create")[1];
    /*
     * i386_THREAD_STATE of 42 integers: of the 64-bit ones, the 17th is the instruction pointer,
     * the 20th the stack pointer.
     */
    uint64_t state[3 + 21] = {ITEM(INTEGER_32, 32, 1, 1), 1, ITEM(INTEGER_32, 32, 1, 42)};
    state[3 + 16] = (uintptr_t)second;
    state[3 + 19] = (uintptr_t)stack + sizeof stack - 8;
    call(THREAD_SET_STATE, thread, state, 24, "thread_set_state");
    const uint64_t where[] = {ITEM(COPY_SEND, 64, 1, 1), set};
    call(THREAD_ASSIGN, thread, where, 2, "thread_assign");
    call(THREAD_RESUME, thread, NULL, 0, "thread_resume");
}

/* The numeric value of an argument; 0 if missing. */
static uint64_t number(const char *text)
{
    uint64_t value = 0;
    while (text && *text >= '0' && *text <= '9')
        value = value * 10 + (uint64_t)(*text++ - '0');
    return value;
}

__attribute__((used)) static void begin(const uint64_t *stack)
{
    const uint64_t host = stack[0] > 1 ? number((const char *)stack[2]) : 0;
    const uint64_t threads = host ? 2 : 1;
    if (host)
        start_second(host);
    work(0);
    await(&ready, threads - 1);
    faultline_mark_begin();
    increment(&go);
    work(0);
    await(&finished, threads - 1);
    faultline_mark_end();
    mach_print("the region has ended\n");
    await(&go, 2);
}
