/* The engine's one lock, for slow paths. Whoever takes it blocks all signals first, so that no handler finds its own thread holding it, and
 * no cancellation ends a thread that does. It lives in private memory and is made new in a forked child. */
#ifndef SLICEWISE_LOCK_H
#define SLICEWISE_LOCK_H

#include "raw.h"

#include <sched.h>
#include <stdatomic.h>

struct lock {
    _Atomic int is_held;
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
    while (atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire) != 0)
        syscall(SYS_sched_yield);
    return held;
}

static inline void lock_give(struct held_lock held)
{
    atomic_store_explicit(&held.lock->is_held, 0, memory_order_release);
    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &held.signals, NULL, ALL_SIGNALS_BYTES);
}

#endif
