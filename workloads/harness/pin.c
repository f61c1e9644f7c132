/* See pin.h. */
#include "pin.h"

#include <errno.h>

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

#endif
