/* The engine's one lock, for slow paths. Whoever takes it blocks all signals first, so that no handler finds its own thread holding it, and
 * no cancellation ends a thread that does. Who waits sleeps: with more threads than processors, the holder must get to run. It lives in
 * private memory and is made new in a forked child. */
#ifndef SLICEWISE_LOCK_H
#define SLICEWISE_LOCK_H

#include "raw.h"

#include <linux/futex.h>
#include <stdatomic.h>

enum { LOCK_FREE = 0, LOCK_HELD = 1, LOCK_WAITED_FOR = 2 };

struct lock {
    _Atomic int state;
};
struct held_lock {
    struct lock *lock;
    uint64_t signals; /* the mask to give back */
};

#define ALL_SIGNALS_BYTES 8

static inline struct held_lock lock_take(struct lock *lock)
{
    struct held_lock held = { .lock = lock };
    const uint64_t all = UINT64_MAX;
    syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &held.signals, ALL_SIGNALS_BYTES);
    int free = LOCK_FREE;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &free, LOCK_HELD, memory_order_acquire, memory_order_relaxed))
        while (atomic_exchange_explicit(&lock->state, LOCK_WAITED_FOR, memory_order_acquire) != LOCK_FREE)
            syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, LOCK_WAITED_FOR, NULL, NULL, 0);
    return held;
}

static inline void lock_give(struct held_lock held)
{
    if (atomic_exchange_explicit(&held.lock->state, LOCK_FREE, memory_order_release) == LOCK_WAITED_FOR)
        syscall(SYS_futex, &held.lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &held.signals, NULL, ALL_SIGNALS_BYTES);
}

#endif
