/* A spin lock. */
#ifndef LOCK_H
#define LOCK_H

struct lock {
    int is_taken;
};

static inline void lock_take(struct lock *lock)
{
    while (__atomic_exchange_n(&lock->is_taken, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&lock->is_taken, __ATOMIC_RELAXED))
            __builtin_ia32_pause();
}

static inline void lock_release(struct lock *lock)
{
    __atomic_store_n(&lock->is_taken, 0, __ATOMIC_RELEASE);
}

#endif
