/* Ticks and what they mean: the processor's counter (or the vDSO clock) on the hot path, mapped to CLOCK_REALTIME nanoseconds by a
 * calibration that every slice's turn renews. Reading ticks and converting durations is for any thread; calibrating and mapping to
 * the wall clock is for the holder of the engine's lock. */
#ifndef SLICEWISE_CLOCK_H
#define SLICEWISE_CLOCK_H

#include "names.h"
#include "sections.h"
#include "vdso.h"

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Of data that hot code reads: one instruction, and not a detour over the table of addresses. */
#define HIDDEN __attribute__((visibility("hidden")))

#define NS_PER_SECOND 1000000000ull

struct clock {
    bool is_counter;          /* else ticks are CLOCK_MONOTONIC nanoseconds */
    bool is_mapped;           /* ticks are the counter's, but found by the clock: a child in our memory must not read the counter */
    bool is_stopped;          /* no clock may be read any more: the kernel's function reads the counter too */
    uint64_t ns_per_tick_q32; /* 32 fractional bits; read by any thread while the holder of the lock renews it */
    uint64_t base_tick, base_ns;
    uint64_t rate_tick, rate_ns; /* the older end of the pair that the rate is measured on */
};
extern struct clock profiler_clock HIDDEN;

/* 0 where the kernel gives no time. */
static inline uint64_t clock_read(clockid_t id)
{
    struct timespec now = { 0 };
    vdso_clock(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t tick_by_clock(void);

static inline uint64_t tick_now(void)
{
    if (__builtin_expect(!profiler_clock.is_counter, 0))
        return tick_by_clock();
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return tick_by_clock();
#endif
}

/* Nanoseconds of a duration in ticks. */
static inline uint64_t ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * __atomic_load_n(&profiler_clock.ns_per_tick_q32, __ATOMIC_RELAXED)) >> 32);
}

/* (above << 32) / below. Of 128 bits only where it must be: that division is a function on a page which short processes touch for nothing else. */
static inline uint64_t shifted_over(uint64_t above, uint64_t below)
{
    return above >> 32 == 0 ? (above << 32) / below : (uint64_t)(((unsigned __int128)above << 32) / below);
}

static inline uint64_t ns_to_ticks(uint64_t ns)
{
    return shifted_over(ns, __atomic_load_n(&profiler_clock.ns_per_tick_q32, __ATOMIC_RELAXED));
}

/* From now on ticks are 0. */
void clock_stop(void);

/* From now on, until it is over, the counter is not read: for a child that forbade itself to, and runs in its parent's memory. Ticks go on. */
void clock_avoid_counter(void);
void clock_use_counter_again(void);

/* Chooses the source of ticks and takes the first pair; the rate is a first guess until clock_calibrate. */
void clock_start(bool may_use_counter);

/* Renews the pair (tick, CLOCK_REALTIME) and the rate. Returns whether the clock was set (stepped) since the last time. */
bool clock_calibrate(void);

/* How far from now, in ticks, the present rate maps ticks to the wall clock with less than a microsecond's error. */
uint64_t clock_trusted_ticks(void);

/* The CLOCK_REALTIME of a tick, and the tick of a CLOCK_REALTIME, by the present calibration. */
uint64_t clock_wall_ns(uint64_t tick);
uint64_t clock_tick_at(uint64_t wall_ns);

#endif
