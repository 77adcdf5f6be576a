/* Three call sites of I/O whose times are known by themselves, 70 : 20 : 10: each reads a timer that runs out 7, 2 and 1 ms after the one before did,
 * so that who wakes late waits less the next time; until all have taken argv[1] milliseconds. Tells each site's microseconds by the clock. */
#include "scenario.h"

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

static int timer;
static long deadline;

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void set_timer(long milliseconds)
{
    deadline += milliseconds * 1000000;
    const struct itimerspec once = { .it_value = { .tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000 } };
    REQUIRE(timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, NULL) == 0);
}

static inline __attribute__((always_inline)) long wait_here(long milliseconds)
{
    uint64_t times;
    set_timer(milliseconds);
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
    long spent[3] = { 0 };
    REQUIRE(argc == 2);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    REQUIRE(timer >= 0);
    while (spent[0] + spent[1] + spent[2] < atol(argv[1]) * 1000000) {
        if (nanoseconds() > deadline + 10000000) /* the first time, and where a stop has made nonsense of them */
            deadline = nanoseconds();
        spent[0] += read_seven();
        spent[1] += read_two();
        spent[2] += read_one();
    }
    tell("read_seven", spent[0] / 1000);
    tell("read_two", spent[1] / 1000);
    tell("read_one", spent[2] / 1000);
    scenario_begin();
    scenario_end();
    return 0;
}
