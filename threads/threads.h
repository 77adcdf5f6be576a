/* What both files of libslicewise-threads.so share. */
#ifndef SLICEWISE_THREADS_H
#define SLICEWISE_THREADS_H

#include "names.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(condition, 1)

/* The profiler's (communication.h); NULL where it is not preloaded, too. */
extern uint64_t slicewise_thread_wait_begin(void) __attribute__((weak));
extern void slicewise_thread_wait_end(unsigned kind, uint64_t start_tick) __attribute__((weak));

/* When the wait of this thread in OpenMP's runtime began; 0: it does not wait there. What the runtime waits for by pthread's functions meanwhile is
 * the same wait. */
extern __thread uint64_t openmp_since_tick __attribute__((visibility("hidden")));

static inline uint64_t wait_begin(void)
{
    return slicewise_thread_wait_begin != NULL ? slicewise_thread_wait_begin() : 0;
}

static inline void wait_end(enum thread_wait kind, uint64_t start_tick)
{
    if (slicewise_thread_wait_end != NULL)
        slicewise_thread_wait_end(kind, start_tick);
    __asm__ volatile(""); /* no jump: it looks where it returns to, which is this library */
}

/* What the caller of a function of ours would have reached without us: `known`, or what is looked up. */
void *threads_look_up(void *_Atomic *known, const char *name) __attribute__((visibility("hidden")));
#define NEXT(name) \
    __extension__({ \
        static void *_Atomic known; \
        void *function = atomic_load_explicit(&known, memory_order_relaxed); \
        (__typeof__(&name))(uintptr_t)(LIKELY(function != NULL) ? function : threads_look_up(&known, #name)); \
    })

#endif
