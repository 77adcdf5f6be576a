/* An hour in a second: preloaded behind a profiler, a clock that the program moves on by skip_clock. CLOCK_MONOTONIC_RAW stays true.
 * It is the kernel's clock and libc's. A profiler that reads the processor's counter must be told to use this clock instead. */
#include "../apps/kernels_clock.h"

#include <dlfcn.h>
#include <stdint.h>

#define NS_PER_SECOND 1000000000ll

static int64_t skew_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((visibility("default"))) void skip_clock(int64_t ns);
void skip_clock(int64_t ns)
{
    skew_ns += ns;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
    if (real_clock_gettime == NULL)
        real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real_clock_gettime(id, now);
    if (failed == 0 && (id == CLOCK_REALTIME || id == CLOCK_MONOTONIC)) {
        int64_t ns = now->tv_sec * NS_PER_SECOND + now->tv_nsec + skew_ns;
        now->tv_sec = ns / NS_PER_SECOND;
        now->tv_nsec = ns % NS_PER_SECOND;
    }
    return failed;
}

int clock_of_kernel(clockid_t id, struct timespec *now)
{
    return clock_gettime(id, now);
}
