/* Three call sites of I/O that share its time 70 : 20 : 10, however late a busy machine wakes them: each waits in read() for a timer, 7, 2 and 1 ms,
 * and next comes always the one that is furthest behind its share by the clock; until all have taken argv[1] milliseconds, argv[2] frames deep.
 * If these are several, each begins a page of its own and no cache holds any of it, so that its stack costs far more to walk than a usual one.
 * Tells each site's microseconds. */
#include "scenario.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

static int timer;

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline __attribute__((always_inline)) long wait_here(long milliseconds)
{
    const struct itimerspec once = { .it_value = { .tv_nsec = milliseconds * 1000000 } };
    uint64_t times;
    REQUIRE(timerfd_settime(timer, 0, &once, NULL) == 0);
    long began = nanoseconds();
    REQUIRE(read(timer, &times, sizeof times) == sizeof times);
    return nanoseconds() - began;
}

__attribute__((noinline)) static long read_seven(void)
{
    return wait_here(7);
}

__attribute__((noinline)) static long read_two(void)
{
    return wait_here(2);
}

__attribute__((noinline)) static long read_one(void)
{
    return wait_here(1);
}

static const struct { const char *name; long (*wait)(void), weight; } sites[] = {
    { "read_seven", read_seven, 7 }, { "read_two", read_two, 2 }, { "read_one", read_one, 1 },
};
static long spent[3];
static char beyond_caches[16 << 20];

__attribute__((noinline)) static int share_out(long nanoseconds, long frames, bool is_cold)
{
    volatile char pages[4 * 4096];
    pages[0] = 1;
    if (frames > 1)
        return share_out(nanoseconds, frames - 1, true) + pages[0];
    while (spent[0] + spent[1] + spent[2] < nanoseconds) {
        int behind = 0;
        for (int i = 1; i < 3; i++)
            if (spent[i] * sites[behind].weight < spent[behind] * sites[i].weight)
                behind = i;
        if (is_cold)
            memset(beyond_caches, behind, sizeof beyond_caches);
        spent[behind] += sites[behind].wait();
    }
    return 1;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    REQUIRE(timer >= 0);
    REQUIRE(share_out(atol(argv[1]) * 1000000, atol(argv[2]), false) == atol(argv[2]));
    for (int i = 0; i < 3; i++)
        tell(sites[i].name, spent[i] / 1000);
    scenario_begin();
    scenario_end();
    return 0;
}
