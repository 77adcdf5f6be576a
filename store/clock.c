#include "clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#pragma weak __x86_get_cpuid_feature_leaf /* older glibcs have none, where packages run too */
#endif
#endif

/* A clock that is off the prediction by more than this, plus PPM of the time since the last pair, was set and not slewed. */
#define STEP_NS 1000000
#define STEP_PPM 1000
/* Error of one pair of readings: what a rate measured over t ns is off by is about this / t. */
#define PAIR_ERROR_NS 60

struct clock profiler_clock = { .ns_per_tick_q32 = 1ull << 32 };

static bool has_invariant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
#if __GLIBC_PREREQ(2, 33)
    if (__x86_get_cpuid_feature_leaf != NULL)
        return CPU_FEATURE_PRESENT(INVARIANT_TSC); /* libc has asked already: in a virtual machine the question costs microseconds */
#endif
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

uint64_t tick_by_clock(void)
{
    if (profiler_clock.is_stopped)
        return 0;
    return profiler_clock.is_mapped ? clock_tick_at(clock_read(CLOCK_REALTIME)) : clock_read(CLOCK_MONOTONIC);
}

void clock_avoid_counter(void)
{
    vdso_avoid(true);
    profiler_clock.is_mapped |= profiler_clock.is_counter;
    profiler_clock.is_counter = false;
}

void clock_use_counter_again(void)
{
    profiler_clock.is_counter |= profiler_clock.is_mapped;
    profiler_clock.is_mapped = false;
    vdso_avoid(false);
}

void clock_stop(void)
{
    profiler_clock.is_stopped = true;
    profiler_clock.is_counter = profiler_clock.is_mapped = false;
}

/* A tick and the wall clock at the same moment: the tightest of three tries, since any of them can be interrupted. */
static void read_pair(uint64_t *tick, uint64_t *wall_ns)
{
    uint64_t tightest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = tick_now();
        uint64_t wall = clock_read(CLOCK_REALTIME);
        uint64_t width = tick_now() - before;
        if (width < tightest) {
            tightest = width;
            *tick = before + width / 2;
            *wall_ns = wall;
        }
    }
}

void clock_start(bool may_use_counter)
{
    struct clock *clock = &profiler_clock;
    clock->is_counter = may_use_counter && has_invariant_counter();
    clock->is_mapped = false;
    clock->ns_per_tick_q32 = 1ull << 32;
    read_pair(&clock->base_tick, &clock->base_ns);
    clock->rate_tick = clock->base_tick;
    clock->rate_ns = clock->base_ns;
}

bool clock_calibrate(void)
{
    struct clock *clock = &profiler_clock;
    uint64_t tick = 0, wall_ns = 0;
    read_pair(&tick, &wall_ns);
    if (tick <= clock->rate_tick)
        return false;

    uint64_t predicted = clock_wall_ns(tick);
    uint64_t off_by = predicted > wall_ns ? predicted - wall_ns : wall_ns - predicted;
    uint64_t since_base = ticks_to_ns(tick - clock->base_tick);
    bool has_rate = clock->base_tick != clock->rate_tick || clock->base_ns != clock->rate_ns;
    bool is_stepped = wall_ns <= clock->rate_ns || (has_rate && off_by > STEP_NS + since_base / 1000000 * STEP_PPM);
    if (is_stepped) {
        clock->rate_tick = tick;
        clock->rate_ns = wall_ns;
    } else {
        uint64_t rate = shifted_over(wall_ns - clock->rate_ns, tick - clock->rate_tick);
        __atomic_store_n(&clock->ns_per_tick_q32, rate, __ATOMIC_RELAXED);
        /* The rate follows slewing: it is measured over the last seconds, not over the whole run. */
        if (wall_ns - clock->rate_ns > 10 * NS_PER_SECOND) {
            clock->rate_tick = clock->base_tick;
            clock->rate_ns = clock->base_ns;
        }
    }
    clock->base_tick = tick;
    clock->base_ns = wall_ns;
    return is_stepped;
}

uint64_t clock_trusted_ticks(void)
{
    uint64_t measured_over = profiler_clock.base_tick - profiler_clock.rate_tick;
    uint64_t floor = clock_tick_at(profiler_clock.base_ns + NS_PER_SECOND / 1000) - profiler_clock.base_tick;
    uint64_t trusted = measured_over * (1000 / PAIR_ERROR_NS);
    return trusted > floor ? trusted : floor;
}

uint64_t clock_wall_ns(uint64_t tick)
{
    const struct clock *clock = &profiler_clock;
    return tick >= clock->base_tick ? clock->base_ns + ticks_to_ns(tick - clock->base_tick) : clock->base_ns - ticks_to_ns(clock->base_tick - tick);
}

uint64_t clock_tick_at(uint64_t wall_ns)
{
    const struct clock *clock = &profiler_clock;
    uint64_t ahead = wall_ns > clock->base_ns ? wall_ns - clock->base_ns : clock->base_ns - wall_ns;
    uint64_t ticks = shifted_over(ahead, clock->ns_per_tick_q32);
    return wall_ns > clock->base_ns ? clock->base_tick + ticks : clock->base_tick - ticks;
}
