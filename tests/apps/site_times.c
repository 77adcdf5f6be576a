/* Three call sites of I/O that share its time 70 : 20 : 10, however late a busy machine wakes them: each waits in read() for a timer, 7, 2 and 1 ms,
 * and next comes always the one that is furthest behind its share by the clock; until all have taken argv[1] milliseconds. Tells each site's
 * microseconds. */
#include "scenario.h"

#include <stdint.h>
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

int main(int argc, char **argv)
{
    static const struct { const char *name; long (*wait)(void), weight; } sites[] = {
        { "read_seven", read_seven, 7 }, { "read_two", read_two, 2 }, { "read_one", read_one, 1 },
    };
    long spent[3] = { 0 };
    REQUIRE(argc == 2);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    REQUIRE(timer >= 0);
    while (spent[0] + spent[1] + spent[2] < atol(argv[1]) * 1000000) {
        int behind = 0;
        for (int i = 1; i < 3; i++)
            if (spent[i] * sites[behind].weight < spent[behind] * sites[i].weight)
                behind = i;
        spent[behind] += sites[behind].wait();
    }
    for (int i = 0; i < 3; i++)
        tell(sites[i].name, spent[i] / 1000);
    scenario_begin();
    scenario_end();
    return 0;
}
