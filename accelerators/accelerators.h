/* What the files of libslicewise-accelerators.so share: they tell the profiler what an accelerator's own profiling interface tells them. */
#ifndef SLICEWISE_ACCELERATORS_H
#define SLICEWISE_ACCELERATORS_H

#include "names.h"

#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*function)(void);

/* The profiler's (accelerated.h, communication.h); NULL where it is not preloaded, too. */
struct accelerated_work {
    uint64_t kind; /* enum accelerated */
    uint64_t begin_ns, end_ns, bytes;
};
extern void slicewise_accelerated(const struct accelerated_work *work, unsigned count) __attribute__((weak));
extern void slicewise_accelerators_failed(uint64_t lost) __attribute__((weak));
extern uint64_t slicewise_accelerator_wait_begin(void) __attribute__((weak));
extern void slicewise_thread_wait_end(unsigned kind, uint64_t start_tick) __attribute__((weak));

/* The thread's call begins or ends that waits for the accelerator. Such calls of a runtime make such calls of a driver: one wait. */
void accelerators_wait(bool begins) __attribute__((visibility("hidden")));

/* Whether a function of this name waits until the accelerator is done: it synchronises, or copies and returns when that is done. */
bool accelerators_is_waiting(const char *name) __attribute__((visibility("hidden")));

/* Work by another clock than CLOCK_REALTIME, gathered to be counted together. */
enum { WORK_AT_ONCE = 64 };
struct gathered {
    uint64_t ahead_ns; /* CLOCK_REALTIME less that clock, modulo 2^64 */
    unsigned used;
    struct accelerated_work work[WORK_AT_ONCE];
};
/* `now`: asks the other clock. */
void gathered_begin(struct gathered *gathered, int (*now)(uint64_t *ns)) __attribute__((visibility("hidden")));
void gathered_add(struct gathered *gathered, enum accelerated kind, uint64_t begin, uint64_t end, uint64_t bytes)
    __attribute__((visibility("hidden")));
void gathered_end(struct gathered *gathered) __attribute__((visibility("hidden")));

/* A function of an object that is loaded already, found without the loader; NULL: there is none. */
function accelerators_function(const char *name) __attribute__((visibility("hidden")));

#endif
