/*
 * The event counters of Linux: /proc/stat, /proc/vmstat, each NUMA node's numastat, and those of
 * our network namespace: /proc/net/snmp, netstat, snmp6, softnet_stat and dev.
 */
#include "counters.h"

#if defined(__linux__)

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* /proc/stat has lines for every CPU and every interrupt, so large machines need this much. */
enum { TEXT_BYTES = 1 << 20, PATH_BYTES = 64 };

const char *const counters_processes_name = "stat.processes";

static char text[TEXT_BYTES];

/* Reads a whole file into `text`; the empty string if the file is missing. */
static const char *read_text(const char *path)
{
    size_t length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t n;
        while (length < TEXT_BYTES - 1 && (n = read(file, text + length, TEXT_BYTES - 1 - length)) > 0)
            length += (size_t)n;
        close(file);
    }
    text[length] = '\0';
    return text;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

/*
 * Fields of the `cpu` line, in clock ticks (proc_stat(5)). User time already includes guest time.
 */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, CPU_FIELDS };

static void read_cpu_line(struct counters *counters, const char *line)
{
    uint64_t ticks[CPU_FIELDS] = {0};
    const char *rest = line + strlen("cpu ");
    for (int field = 0; field < CPU_FIELDS; field++) {
        char *end;
        ticks[field] = strtoull(rest, &end, 10);
        if (end == rest)
            break;
        rest = end;
    }
    const struct {
        const char *name;
        uint64_t ticks;
    } times[] = {
        {"user_ns", ticks[USER] + ticks[NICE]}, {"system_ns", ticks[SYSTEM]},
        {"idle_ns", ticks[IDLE]},               {"iowait_ns", ticks[IOWAIT]},
        {"irq_ns", ticks[IRQ] + ticks[SOFTIRQ]}, {"steal_ns", ticks[STEAL]},
    };
    uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        counters_add(counters, "stat.", times[i].name, strlen(times[i].name), times[i].ticks * tick_ns);
}

static void read_stat(struct counters *counters)
{
    for (const char *line = read_text("/proc/stat"); *line != '\0'; line = next_line(line)) {
        if (strncmp(line, "cpu ", 4) == 0)
            read_cpu_line(counters, line);
        else if (strncmp(line, "ctxt ", 5) == 0)
            counters_add(counters, "stat.", "context_switches", 16, strtoull(line + 5, NULL, 10));
        else if (strncmp(line, "processes ", 10) == 0)
            counters_add(counters, "stat.", "processes", 9, strtoull(line + 10, NULL, 10));
    }
}

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* nr_* are levels (numbers of pages in a state), except for these, which only grow. */
static bool is_level(const char *name)
{
    if (starts_with(name, "nr_"))
        return !(starts_with(name, "nr_tlb_") || starts_with(name, "nr_dirtied ") || starts_with(name, "nr_written "));
    return starts_with(name, "workingset_nodes ");
}

/* Lines `name value`, with blanks between. */
static void read_pairs(struct counters *counters, const char *path, const char *prefix)
{
    for (const char *line = read_text(path); *line != '\0'; line = next_line(line)) {
        size_t name_length = strcspn(line, " \t\n");
        const char *value = line + name_length + strspn(line + name_length, " \t");
        if (isdigit((unsigned char)*value) && !is_level(line))
            counters_add(counters, prefix, line, name_length, strtoull(value, NULL, 10));
    }
}

static void read_nodes(struct counters *counters)
{
    DIR *nodes = opendir("/sys/devices/system/node");
    if (nodes == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(nodes)) != NULL) {
        unsigned node;
        char path[PATH_BYTES];
        char prefix[PATH_BYTES];
        if (sscanf(entry->d_name, "node%u", &node) != 1)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/numastat", node);
        snprintf(prefix, sizeof prefix, "node%u.", node);
        read_pairs(counters, path, prefix);
    }
    closedir(nodes);
}

/* Two lines for each protocol: `Udp: NAME…` and `Udp: VALUE…`. */
static void read_protocols(struct counters *counters, const char *path)
{
    const char *names = read_text(path);
    while (*names != '\0') {
        const char *values = next_line(names);
        char prefix[PATH_BYTES];
        size_t length = strcspn(names, ":\n");
        if (names[length] != ':' || strncmp(names, values, length + 1) != 0 || length + sizeof "net.." > sizeof prefix)
            return;
        snprintf(prefix, sizeof prefix, "net.%.*s.", (int)length, names);
        names += length + 1;
        values += length + 1;
        while (*names == ' ' && *values == ' ') {
            size_t name_length = strcspn(++names, " \n");
            size_t value_length = strcspn(++values, " \n");
            if (!starts_with(names, "CurrEstab")) /* a level */
                counters_add(counters, prefix, names, name_length, strtoull(values, NULL, 10));
            names += name_length;
            values += value_length;
        }
        names = next_line(values);
    }
}

/*
 * Packets dropped because a CPU's queue was full, over all CPUs: the second field of each line,
 * hexadecimal.
 */
static void read_queues(struct counters *counters)
{
    uint64_t dropped = 0;
    for (const char *line = read_text("/proc/net/softnet_stat"); *line != '\0'; line = next_line(line)) {
        char *end;
        strtoull(line, &end, 16);
        dropped += strtoull(end, NULL, 16);
    }
    counters_add(counters, "net.", "softnet.dropped", strlen("softnet.dropped"), dropped);
}

/*
 * Devices, after two header lines: `NAME: bytes packets errs drop …`, eight fields for receiving
 * and eight for sending. The sums are over all devices of this namespace.
 */
static void read_devices(struct counters *counters)
{
    enum { RECEIVED_PACKETS = 1, RECEIVED_ERRORS, RECEIVED_DROPPED, SENT_PACKETS = 9, SENT_ERRORS, SENT_DROPPED, FIELDS };
    uint64_t sums[FIELDS] = {0};
    const char *line = next_line(next_line(read_text("/proc/net/dev")));
    for (; *line != '\0'; line = next_line(line)) {
        const char *rest = line + strcspn(line, ":\n");
        for (unsigned field = 0; *rest != '\n' && *rest != '\0' && field < FIELDS; field++) {
            char *end;
            sums[field] += strtoull(rest + (field == 0), &end, 10);
            rest = end;
        }
    }
    const struct {
        const char *name;
        uint64_t value;
    } of_all[] = {{"received", sums[RECEIVED_PACKETS]},
                  {"sent", sums[SENT_PACKETS]},
                  {"errors", sums[RECEIVED_ERRORS] + sums[SENT_ERRORS]},
                  {"dropped", sums[RECEIVED_DROPPED] + sums[SENT_DROPPED]}};
    for (size_t i = 0; i < sizeof of_all / sizeof of_all[0]; i++)
        counters_add(counters, "net.devices.", of_all[i].name, strlen(of_all[i].name), of_all[i].value);
}

static void read_network(struct counters *counters)
{
    read_protocols(counters, "/proc/net/snmp");
    read_protocols(counters, "/proc/net/netstat");
    read_pairs(counters, "/proc/net/snmp6", "net.");
    read_queues(counters);
    read_devices(counters);
}

void counters_read_system(struct counters *counters, bool with_network)
{
    read_stat(counters);
    read_pairs(counters, "/proc/vmstat", "vmstat.");
    read_nodes(counters);
    if (with_network)
        read_network(counters);
}

#endif
