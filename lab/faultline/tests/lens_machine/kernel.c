/*
 * A 32-bit kernel. Between region marks, each CPU increments a word of its own and one that all
 * share. A word on the kernel's command line changes this:
 *
 *   x2apic  reads the time from the x2APIC first, if there is one
 *   halt    halts, and prints nothing
 *   reset   resets the machine without a mark
 */
#include "faultline_mark.h"
#include "machine.h"

#define OPERATIONS 1000

/* A word on its own cache line. */
struct lonely {
    unsigned word;
} __attribute__((aligned(128)));

struct lonely shared;
struct lonely own[MOST_CPUS];
struct lonely ready;
struct lonely finished;

/* Waits until all CPUs have arrived. */
static void meet(struct lonely *place)
{
    __atomic_add_fetch(&place->word, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&place->word, __ATOMIC_ACQUIRE) < cpu_count())
        pause();
}

static void count(unsigned cpu)
{
    meet(&ready);
    if (cpu == 0)
        faultline_mark_begin();
    for (int i = 0; i < OPERATIONS; i++) {
        own[cpu].word++;
        __atomic_add_fetch(&shared.word, 1, __ATOMIC_RELAXED);
    }
    meet(&finished);
    if (cpu == 0)
        faultline_mark_end();
}

/* True if the command line has the word. The kernel's own path comes first there. */
static bool has_word(const char *line, const char *word)
{
    for (; *line; line++) {
        const char *at = line, *wanted = word;
        while (*wanted && *at == *wanted)
            at++, wanted++;
        if (!*wanted && !*at)
            return true;
    }
    return false;
}

/* Registers of the x2APIC, of the model-specific registers. */
enum { APIC_BASE = 0x1b, X2APIC_INITIAL_COUNT = 0x838, X2APIC_CURRENT_COUNT = 0x839 };

static uint32_t read_register(uint32_t number)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
    return low;
}

static void write_register(uint32_t number, uint32_t value)
{
    __asm__ volatile("wrmsr" ::"a"(value), "d"(0), "c"(number));
}

static void use_x2apic(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(c & 1u << 21)) {
        print("there is no x2APIC\n");
        return;
    }
    write_register(APIC_BASE, read_register(APIC_BASE) | 1u << 10);
    write_register(X2APIC_INITIAL_COUNT, 1000000);
    if (read_register(X2APIC_CURRENT_COUNT) > 0)
        print("the x2APIC counts\n");
}

static void reset(void)
{
    __asm__ volatile("outb %0, %1" ::"a"((uint8_t)0xfe), "d"((uint16_t)0x64));
    halt();
}

void kernel(const char *line)
{
    if (has_word(line, " halt"))
        halt();
    if (has_word(line, " reset"))
        reset();
    if (has_word(line, " x2apic"))
        use_x2apic();
    on_each_cpu(count);
}
