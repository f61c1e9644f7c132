/* See pin.h. */
#include "pin.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__linux__) || defined(__DragonFly__)
#include <sched.h>
#elif defined(__FreeBSD__)
#include <sys/param.h>
#include <sys/cpuset.h>
#elif defined(__NetBSD__)
#include <pthread.h>
#include <sched.h>
#endif

#if defined(__linux__)

enum { LARGEST_SET_BITS = 1 << 20 };

bool pin_supported(void)
{
    return true;
}

int pin_self(const unsigned *cpus, size_t count)
{
    size_t bits = 0;
    for (size_t i = 0; i < count; i++)
        if (cpus[i] >= bits)
            bits = (size_t)cpus[i] + 1;
    cpu_set_t *set = CPU_ALLOC(bits);
    if (set == NULL)
        return ENOMEM;
    size_t bytes = CPU_ALLOC_SIZE(bits);
    CPU_ZERO_S(bytes, set);
    for (size_t i = 0; i < count; i++)
        CPU_SET_S(cpus[i], bytes, set);
    int error = sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    return error;
}

/* The kernel refuses a set smaller than its own, so larger ones are tried until it accepts. */
static cpu_set_t *allowed_set(size_t *bits)
{
    for (*bits = CPU_SETSIZE; *bits <= LARGEST_SET_BITS; *bits *= 2) {
        cpu_set_t *set = CPU_ALLOC(*bits);
        if (set == NULL || sched_getaffinity(0, CPU_ALLOC_SIZE(*bits), set) == 0)
            return set;
        CPU_FREE(set);
        if (errno != EINVAL)
            return NULL;
    }
    return NULL;
}

int pin_allowed(unsigned **cpus, size_t *count)
{
    size_t bits;
    cpu_set_t *set = allowed_set(&bits);
    if (set == NULL)
        return errno;
    size_t bytes = CPU_ALLOC_SIZE(bits);
    *count = 0;
    *cpus = malloc((size_t)CPU_COUNT_S(bytes, set) * sizeof **cpus);
    for (unsigned cpu = 0; *cpus != NULL && cpu < bits; cpu++)
        if (CPU_ISSET_S(cpu, bytes, set))
            (*cpus)[(*count)++] = cpu;
    CPU_FREE(set);
    return *cpus != NULL ? 0 : ENOMEM;
}

#elif defined(__FreeBSD__) || defined(__DragonFly__)

bool pin_supported(void)
{
    return true;
}

int pin_self(const unsigned *cpus, size_t count)
{
#if defined(__FreeBSD__)
    cpuset_t set;
#else
    cpu_set_t set;
#endif
    CPU_ZERO(&set);
    for (size_t i = 0; i < count; i++) {
        if (cpus[i] >= CPU_SETSIZE)
            return EINVAL;
        CPU_SET(cpus[i], &set);
    }
#if defined(__FreeBSD__)
    return cpuset_setaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof set, &set) == 0 ? 0 : errno;
#else
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
#endif
}

int pin_allowed(unsigned **cpus, size_t *count)
{
#if defined(__FreeBSD__)
    cpuset_t set;
    if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof set, &set) != 0)
        return errno;
#else
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return errno;
#endif
    *count = 0;
    *cpus = malloc(CPU_SETSIZE * sizeof **cpus);
    if (*cpus == NULL)
        return ENOMEM;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            (*cpus)[(*count)++] = cpu;
    return 0;
}

#elif defined(__NetBSD__)

bool pin_supported(void)
{
    return true;
}

int pin_self(const unsigned *cpus, size_t count)
{
    cpuset_t *set = cpuset_create();
    if (set == NULL)
        return ENOMEM;
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++)
        if (cpuset_set(cpus[i], set) != 0)
            error = EINVAL;
    if (error == 0)
        error = pthread_setaffinity_np(pthread_self(), cpuset_size(set), set);
    cpuset_destroy(set);
    return error;
}

int pin_allowed(unsigned **cpus, size_t *count)
{
    cpuset_t *set = cpuset_create();
    if (set == NULL)
        return ENOMEM;
    cpuid_t places = (cpuid_t)(cpuset_size(set) * 8);
    *count = 0;
    *cpus = malloc(places * sizeof **cpus);
    int error = *cpus == NULL ? ENOMEM : pthread_getaffinity_np(pthread_self(), cpuset_size(set), set);
    for (cpuid_t cpu = 0; error == 0 && cpu < places; cpu++)
        if (cpuset_isset(cpu, set) > 0)
            (*cpus)[(*count)++] = (unsigned)cpu;
    if (error != 0)
        free(*cpus);
    cpuset_destroy(set);
    return error;
}

#else

bool pin_supported(void)
{
    return false;
}

int pin_self(const unsigned *cpus, size_t count)
{
    (void)cpus;
    (void)count;
    return ENOSYS;
}

int pin_allowed(unsigned **cpus, size_t *count)
{
    (void)cpus;
    (void)count;
    return ENOSYS;
}

#endif
