/*
 * Start of the machine's CPUs (MultiProcessor Specification 1.4; Intel 64 and IA-32 Architectures
 * Software Developer's Manual, volume 3, "Advanced Programmable Interrupt Controller"), and the
 * serial port.
 */
#include "machine.h"
#include "trampoline.h"

#define SERIAL_PORT 0x3f8

/* Registers of the local APIC, in words of 32 bits. */
enum { APIC_ID = 0x20 / 4, APIC_ENABLE = 0xf0 / 4, APIC_COMMAND = 0x300 / 4, APIC_COMMAND_TO = 0x310 / 4 };
enum { COMMAND_INIT = 0x4500, COMMAND_START = 0x4600, COMMAND_IS_PENDING = 0x1000 };

/* MP floating pointer structure. */
struct mp_pointer {
    char signature[4];
    uint32_t table;
};

/* MP configuration table header. */
struct mp_table {
    char signature[4];
    uint16_t bytes;
    uint8_t revision, checksum;
    char names[20];
    uint32_t more;
    uint16_t more_bytes, entries;
    uint32_t apic;
    uint16_t extended_bytes;
    uint8_t extended_checksum, reserved;
};

/* Processor entry; all other entries have 8 bytes. */
struct mp_cpu {
    uint8_t type, apic_id, apic_version, flags;
    uint32_t signature, features, reserved[2];
};

void begin(const uint32_t *multiboot);
void begin_further(void);

/* Stack of the CPU that is starting; read in start.S. */
void *next_stack;

static volatile uint32_t *apic;
static uint8_t apic_ids[MOST_CPUS];
static unsigned cpus;
static unsigned cpus_started;
static void (*each_cpu_work)(unsigned cpu);
static char stacks[MOST_CPUS][16384] __attribute__((aligned(16)));

static void put(uint8_t byte)
{
    __asm__ volatile("outb %0, %1" ::"a"(byte), "d"((uint16_t)SERIAL_PORT));
}

void print(const char *text)
{
    while (*text)
        put(*text++);
}

void print_number(unsigned number)
{
    if (number >= 10)
        print_number(number / 10);
    put('0' + number % 10);
}

_Noreturn void halt(void)
{
    for (;;)
        __asm__ volatile("cli; hlt");
}

static bool begins(const char *bytes, const char *signature)
{
    for (int i = 0; i < 4; i++)
        if (bytes[i] != signature[i])
            return false;
    return true;
}

/* The firmware's pointer to its MP table, in its read-only memory. */
static const struct mp_pointer *find_pointer(void)
{
    for (uintptr_t at = 0xf0000; at < 0x100000; at += 16)
        if (begins((const char *)at, "_MP_"))
            return (const struct mp_pointer *)at;
    return NULL;
}

static void find_cpus(void)
{
    const struct mp_pointer *pointer = find_pointer();
    if (!pointer) {
        print("there is no MP table\n");
        halt();
    }
    const struct mp_table *table = (const struct mp_table *)pointer->table;
    apic = (volatile uint32_t *)table->apic;
    const uint8_t *entry = (const uint8_t *)(table + 1);
    for (unsigned i = 0; i < table->entries; i++) {
        const struct mp_cpu *cpu = (const struct mp_cpu *)entry;
        if (cpu->type == 0 && (cpu->flags & 1) && cpus < MOST_CPUS)
            apic_ids[cpus++] = cpu->apic_id;
        entry += cpu->type == 0 ? sizeof *cpu : 8;
    }
}

unsigned cpu_count(void)
{
    return cpus;
}

static void command(uint8_t apic_id, uint32_t what)
{
    apic[APIC_COMMAND_TO] = (uint32_t)apic_id << 24;
    apic[APIC_COMMAND] = what;
    while (apic[APIC_COMMAND] & COMMAND_IS_PENDING)
        pause();
}

void on_each_cpu(void (*work)(unsigned cpu))
{
    extern const char further[], further_end[];
    char *trampoline = (char *)TRAMPOLINE;
    for (const char *from = further; from < further_end; from++)
        *trampoline++ = *from;
    each_cpu_work = work;
    apic[APIC_ENABLE] |= 0x100;
    /* The first CPU is the first entry of the table. */
    __atomic_store_n(&cpus_started, 1, __ATOMIC_RELEASE);
    for (unsigned cpu = 1; cpu < cpus; cpu++) {
        next_stack = stacks[cpu] + sizeof stacks[cpu] - 16;
        command(apic_ids[cpu], COMMAND_INIT);
        command(apic_ids[cpu], COMMAND_START | TRAMPOLINE >> 12);
        while (__atomic_load_n(&cpus_started, __ATOMIC_ACQUIRE) == cpu)
            pause();
    }
    work(0);
}

/* First C code of each further CPU. CPUs start one after the other. */
void begin_further(void)
{
    const unsigned cpu = cpus_started;
    __atomic_store_n(&cpus_started, cpu + 1, __ATOMIC_RELEASE);
    each_cpu_work(cpu);
    halt();
}

/* First C code of the first CPU. `multiboot`: the loader's description. */
void begin(const uint32_t *multiboot)
{
    find_cpus();
    kernel(multiboot[0] & 4 ? (const char *)multiboot[4] : "");
    halt();
}
