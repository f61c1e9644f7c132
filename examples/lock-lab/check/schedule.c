/*
 * The compiler's option -fsanitize=thread calls a function before each memory access. Here these
 * functions are ours, not those of the compiler's library, and each may switch to another thread.
 * All threads are coroutines of one process.
 *
 * A race is found by vector clocks (Flanagan and Freund, "FastTrack", 2009): an access races with
 * an earlier one of another thread if no chain of releases and acquisitions of atomic variables
 * leads from the one to the other, and at least one of them writes.
 */
#include "schedule.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES (256 * 1024)
/* A thread goes on for this number of accesses on average. */
#define MEAN_TURN 4
/* Accesses of a run; more mean that threads wait for each other for ever. */
#define MOST_STEPS 3000000
/* Places with a state; a power of two. */
#define PLACES (1u << 18)

struct clocks {
    unsigned of[THREADS];
};

/* The last accesses to a byte, or the releases of an atomic variable. */
struct place {
    uintptr_t address;
    unsigned run;
    unsigned writer, written;
    const void *writing_code;
    struct clocks reads;
    const void *reading_code[THREADS];
    struct clocks released;
};

static struct thread {
    ucontext_t context;
    char stack[STACK_BYTES];
    struct clocks clocks;
    bool has_ended;
} threads[THREADS];

static struct place places[PLACES];
static ucontext_t scheduler;
static void (*thread_work)(unsigned thread);
static unsigned current, run, steps;
static bool is_running;
static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 32) % limit;
}

_Noreturn void wrong(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    printf("\n");
    fflush(stdout);
    _Exit(1);
}

static struct place *place_of(uintptr_t address)
{
    unsigned at = (unsigned)((address * 0x9e3779b97f4a7c15u) >> 46) & (PLACES - 1);
    for (unsigned i = 0; i < PLACES; i++, at = (at + 1) & (PLACES - 1)) {
        struct place *place = &places[at];
        if (place->run != run)
            *place = (struct place){.address = address, .run = run};
        if (place->address == address)
            return place;
    }
    wrong("the check has no room for so many addresses");
}

static void join(struct clocks *into, const struct clocks *from)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (into->of[i] < from->of[i])
            into->of[i] = from->of[i];
}

/* `grade.py` replaces the addresses by functions and lines. */
static _Noreturn void race(const void *before, const void *now)
{
    wrong("data race: %p and %p use the same data without a common lock", before, now);
}

static void access_byte(uintptr_t address, bool is_write, const void *code)
{
    struct place *place = place_of(address);
    struct clocks *own = &threads[current].clocks;
    if (place->written > own->of[place->writer] && place->writer != current)
        race(place->writing_code, code);
    if (!is_write) {
        place->reads.of[current] = own->of[current];
        place->reading_code[current] = code;
        return;
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (i != current && place->reads.of[i] > own->of[i])
            race(place->reading_code[i], code);
    place->writer = current;
    place->written = own->of[current];
    place->writing_code = code;
}

/* Lets another thread go on, or not. */
static void step(void)
{
    if (++steps > MOST_STEPS)
        wrong("no end: threads wait for each other");
    if (random_below(MEAN_TURN) == 0)
        swapcontext(&threads[current].context, &scheduler);
}

static void access_bytes(const volatile void *from, size_t bytes, bool is_write, const void *code)
{
    if (!is_running)
        return;
    step();
    for (size_t i = 0; i < bytes; i++)
        access_byte((uintptr_t)from + i, is_write, code);
}

void note_reads(const void *from, size_t bytes)
{
    access_bytes(from, bytes, false, __builtin_return_address(0));
}

void note_writes(const void *from, size_t bytes)
{
    access_bytes(from, bytes, true, __builtin_return_address(0));
}

static bool acquires(int order)
{
    return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order)
{
    return order >= __ATOMIC_RELEASE;
}

/* Before an atomic access: a switch, and what its order brings. */
static void begin_atomic(const volatile void *at, int order, bool is_write)
{
    if (!is_running)
        return;
    step();
    struct clocks *own = &threads[current].clocks;
    struct place *place = place_of((uintptr_t)at);
    if (acquires(order))
        join(own, &place->released);
    if (is_write && releases(order)) {
        join(&place->released, own);
        own->of[current]++;
    }
}

static void begin_thread(void)
{
    thread_work(current);
    threads[current].has_ended = true;
    swapcontext(&threads[current].context, &scheduler);
}

void run_threads(unsigned seed, void (*work)(unsigned thread))
{
    run++;
    steps = 0;
    random_state = 0x2545f4914f6cdd1du * (seed + 1);
    thread_work = work;
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *thread = &threads[i];
        getcontext(&thread->context);
        thread->context.uc_stack.ss_sp = thread->stack;
        thread->context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&thread->context, begin_thread, 0);
        thread->has_ended = false;
        memset(&thread->clocks, 0, sizeof thread->clocks);
        thread->clocks.of[i] = 1;
    }
    is_running = true;
    for (unsigned left = THREADS; left > 0;) {
        current = random_below(THREADS);
        if (threads[current].has_ended)
            continue;
        swapcontext(&scheduler, &threads[current].context);
        left -= threads[current].has_ended;
    }
    is_running = false;
}

/* The functions that instrumented code calls. */
#define CALLER __builtin_return_address(0)
#define ACCESSES(bytes)                                                                                   \
    void __tsan_read##bytes(void *at) { access_bytes(at, bytes, false, CALLER); }                         \
    void __tsan_write##bytes(void *at) { access_bytes(at, bytes, true, CALLER); }                         \
    void __tsan_unaligned_read##bytes(void *at) { access_bytes(at, bytes, false, CALLER); }               \
    void __tsan_unaligned_write##bytes(void *at) { access_bytes(at, bytes, true, CALLER); }               \
    void __tsan_volatile_read##bytes(void *at) { access_bytes(at, bytes, false, CALLER); }                \
    void __tsan_volatile_write##bytes(void *at) { access_bytes(at, bytes, true, CALLER); }                \
    void __tsan_read_write##bytes(void *at) { access_bytes(at, bytes, true, CALLER); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_read_range(void *from, size_t bytes) { access_bytes(from, bytes, false, CALLER); }
void __tsan_write_range(void *from, size_t bytes) { access_bytes(from, bytes, true, CALLER); }

/* `grade.py` renames calls of the C library's functions to these. */
void *__tsan_memset(void *to, int byte, size_t bytes)
{
    access_bytes(to, bytes, true, CALLER);
    return memset(to, byte, bytes);
}
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    access_bytes(from, bytes, false, CALLER);
    access_bytes(to, bytes, true, CALLER);
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    access_bytes(from, bytes, false, CALLER);
    access_bytes(to, bytes, true, CALLER);
    return memmove(to, from, bytes);
}
int __tsan_memcmp(const void *one, const void *other, size_t bytes)
{
    access_bytes(one, bytes, false, CALLER);
    access_bytes(other, bytes, false, CALLER);
    return memcmp(one, other, bytes);
}

#define CHANGE(type, bits, name, operation)                                                               \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                           \
    {                                                                                                     \
        begin_atomic(at, order, true);                                                                    \
        const type before = *at;                                                                          \
        *at = operation;                                                                                  \
        return before;                                                                                    \
    }
#define ATOMICS(type, bits)                                                                               \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                                   \
    {                                                                                                     \
        begin_atomic(at, order, false);                                                                   \
        return *at;                                                                                       \
    }                                                                                                     \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                            \
    {                                                                                                     \
        begin_atomic(at, order, true);                                                                    \
        *at = value;                                                                                      \
    }                                                                                                     \
    CHANGE(type, bits, exchange, value)                                                                   \
    CHANGE(type, bits, fetch_add, (type)(before + value))                                                 \
    CHANGE(type, bits, fetch_sub, (type)(before - value))                                                 \
    CHANGE(type, bits, fetch_and, (type)(before & value))                                                 \
    CHANGE(type, bits, fetch_or, (type)(before | value))                                                  \
    CHANGE(type, bits, fetch_xor, (type)(before ^ value))                                                 \
    CHANGE(type, bits, fetch_nand, (type)~(before & value))                                               \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value,      \
                                                      int order, int failure)                             \
    {                                                                                                     \
        begin_atomic(at, *at == *expected ? order : failure, *at == *expected);                           \
        if (*at == *expected) {                                                                           \
            *at = value;                                                                                  \
            return 1;                                                                                     \
        }                                                                                                 \
        *expected = *at;                                                                                  \
        return 0;                                                                                         \
    }                                                                                                     \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value,        \
                                                    int order, int failure)                               \
    {                                                                                                     \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, failure);        \
    }                                                                                                     \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected, type value,         \
                                                    int order, int failure)                               \
    {                                                                                                     \
        __tsan_atomic##bits##_compare_exchange_strong(at, &expected, value, order, failure);              \
        return expected;                                                                                  \
    }
ATOMICS(uint8_t, 8)
ATOMICS(uint16_t, 16)
ATOMICS(uint32_t, 32)
ATOMICS(uint64_t, 64)

/*
 * A fence orders accesses to all addresses, and the clocks above follow single variables. Refused,
 * because correct code would be reported as a race.
 */
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    wrong("%p has a memory fence, which this check does not know: give an order to the atomic operation", CALLER);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
