/* The engine's one lock, for slow paths. Whoever takes it blocks signals first, so that no handler finds its own thread holding it, and
 * no cancellation ends a thread that does. Signals that an instruction or a system call causes itself are left alone: blocked, they would be
 * fatal, and a sandbox answers system calls in a handler of SIGSYS. Such a handler may find its thread in here (`holds_lock`), and then
 * nothing is counted. Who waits sleeps: with more threads than processors, the holder must get to run. The lock lives in private memory and
 * is made new in a forked child. A vforked child shares it, and may be killed while it holds it: the lock says which process that is, and
 * who has waited long looks whether that still lives. */
#ifndef SLICEWISE_LOCK_H
#define SLICEWISE_LOCK_H

#include "call.h"
#include "lazy_start.h"
#include "raw.h"
#include "signals.h"
#include "vfork_child.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#define LOCK_FREE 0u
#define LOCK_WAITED_FOR (1u << 31) /* beside the holder's process id */
#define LOCK_TIMEOUT_S 1

struct lock {
    _Atomic uint32_t state;
};
struct held_lock {
    struct lock *lock;
    uint64_t signals; /* the mask to give back */
};

/* All but those that the thread's own instructions cause. */
#define SIGNALS_TO_BLOCK \
    (~(SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP)))

/* The process that runs: the kernel is asked where it may be a child in our memory. */
static inline uint32_t lock_own_pid(void)
{
    uint32_t pid = lazy_start_page.pid;
    return pid != 0 && atomic_load_explicit(&vfork_children, memory_order_relaxed) == 0 ? pid : (uint32_t)raw_getpid();
}

/* Whether a process that shared our memory has ended. */
static inline bool holder_is_gone(uint32_t pid)
{
    siginfo_t child = { 0 };
    long result = raw_result(syscall(SYS_waitid, P_PID, pid, &child, WEXITED | WNOHANG | WNOWAIT, NULL));
    if (result == -ECHILD) /* waited for already, or none of ours */
        return raw_result(syscall(SYS_kill, pid, 0)) == -ESRCH;
    return result == 0 && child.si_pid != 0;
}

/* Sleeps until the lock is given, or LOCK_TIMEOUT_S. Returns whether it is ours now, for its holder is no more. */
static inline bool lock_wait(struct lock *lock, uint32_t waited_for, uint32_t self)
{
    const struct timespec timeout = { .tv_sec = LOCK_TIMEOUT_S };
    long result = raw_result(syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, waited_for, &timeout, NULL, 0));
    uint32_t holder = waited_for & ~LOCK_WAITED_FOR;
    return result == -ETIMEDOUT && holder != self && holder_is_gone(holder) &&
           atomic_compare_exchange_strong_explicit(&lock->state, &waited_for, self | LOCK_WAITED_FOR, memory_order_acquire, memory_order_relaxed);
}

static inline struct held_lock lock_take(struct lock *lock)
{
    struct held_lock held = { .lock = lock };
    const uint64_t blocked = SIGNALS_TO_BLOCK;
    if (!thread_state.keeps_signals)
        syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &blocked, &held.signals, ALL_SIGNALS_BYTES);
    thread_state.holds_lock = 1;
    uint32_t self = lock_own_pid(), taken = self, seen = LOCK_FREE;
    while (!atomic_compare_exchange_strong_explicit(&lock->state, &seen, taken, memory_order_acquire, memory_order_relaxed)) {
        uint32_t waited_for = seen | LOCK_WAITED_FOR;
        taken = self | LOCK_WAITED_FOR; /* others may wait as well */
        if ((seen == waited_for ||
             atomic_compare_exchange_strong_explicit(&lock->state, &seen, waited_for, memory_order_relaxed, memory_order_relaxed)) &&
            lock_wait(lock, waited_for, self))
            break;
        seen = LOCK_FREE;
    }
    return held;
}

/* For a handler, in which all signals are blocked: it must not wait for another thread. */
static inline bool lock_try(struct lock *lock, struct held_lock *held)
{
    uint32_t seen = LOCK_FREE;
    held->lock = lock;
    thread_state.holds_lock = 1;
    bool is_taken = atomic_compare_exchange_strong_explicit(&lock->state, &seen, lock_own_pid(), memory_order_acquire, memory_order_relaxed);
    thread_state.holds_lock = is_taken;
    return is_taken;
}

static inline void lock_release(struct held_lock held)
{
    if (atomic_exchange_explicit(&held.lock->state, LOCK_FREE, memory_order_release) & LOCK_WAITED_FOR)
        syscall(SYS_futex, &held.lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    thread_state.holds_lock = 0;
}

static inline void lock_give(struct held_lock held)
{
    lock_release(held);
    if (!thread_state.keeps_signals)
        syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &held.signals, NULL, ALL_SIGNALS_BYTES);
}

/* The same within bookkeeping. Signals stay blocked until that is done, for a handler may never come back: it may jump elsewhere. */
static inline void lock_give_keeping_signals(struct held_lock held)
{
    lock_release(held);
    if (thread_state.keeps_signals)
        return;
    thread_state.kept_signals = held.signals;
    thread_state.keeps_signals = 1;
}

static inline void lock_give_signals_back(struct thread *thread)
{
    if (__builtin_expect(!thread->keeps_signals, 1))
        return;
    thread->keeps_signals = 0;
    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &thread->kept_signals, NULL, ALL_SIGNALS_BYTES);
}

#endif
