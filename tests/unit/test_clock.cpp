#include "catch.h"
#include "sandbox.h"

#include <algorithm>

namespace {

/* A clock whose ticks are the fake CLOCK_MONOTONIC, `rate` times as fast as CLOCK_REALTIME. */
struct Clocks {
    Sandbox sandbox;
    double rate = 1;

    Clocks()
    {
        fake_system.has_clock = true;
        fake_system.realtime_ns = 1700000000 * NS_PER_SECOND;
        fake_system.monotonic_ns = 5000 * NS_PER_SECOND;
        clock_start(false);
    }

    bool pass(uint64_t ns)
    {
        fake_system.realtime_ns += ns;
        fake_system.monotonic_ns += (uint64_t)((double)ns * rate);
        return clock_calibrate();
    }

    int64_t off_by() const { return (int64_t)(clock_wall_ns(fake_system.monotonic_ns) - fake_system.realtime_ns); }
};

} // namespace

TEST_CASE("ticks are mapped to the wall clock by the measured rate", "[clock]")
{
    Clocks clocks;
    clocks.rate = GENERATE(1.0, 0.25, 2.1, 3.7);
    clocks.pass(NS_PER_SECOND);
    CHECK(std::llabs(clocks.off_by()) == 0);

    uint64_t tick = fake_system.monotonic_ns, later = tick + (uint64_t)(3e9 * clocks.rate);
    CHECK(std::llabs((int64_t)(clock_wall_ns(later) - fake_system.realtime_ns) - 3000000000) <= 3);
    CHECK(std::llabs((int64_t)ticks_to_ns(later - tick) - 3000000000) <= 3);
    CHECK(std::llabs((int64_t)(clock_tick_at(clock_wall_ns(later)) - later)) <= 4);
}

TEST_CASE("moments before the last pair are mapped too", "[clock]")
{
    Clocks clocks;
    clocks.pass(NS_PER_SECOND);
    uint64_t tick = fake_system.monotonic_ns;
    CHECK(clock_wall_ns(tick - 700) == fake_system.realtime_ns - 700);
    CHECK(clock_tick_at(fake_system.realtime_ns - 700) == tick - 700);
}

TEST_CASE("a clock that is slewed is followed and not taken for set", "[clock]")
{
    Clocks clocks;
    clocks.pass(NS_PER_SECOND);
    clocks.rate = 1.0005; /* adjtime's own limit */
    for (int second = 0; second < 60; second++)
        REQUIRE_FALSE(clocks.pass(NS_PER_SECOND));
    CHECK(clocks.off_by() == 0);
    /* The rate is that of the last seconds, not of the whole run. */
    fake_system.realtime_ns += 4 * NS_PER_SECOND;
    fake_system.monotonic_ns += (uint64_t)(4e9 * clocks.rate);
    CHECK(std::llabs(clocks.off_by()) < 1000);
}

TEST_CASE("a clock that was set is noticed once, in either direction", "[clock]")
{
    Clocks clocks;
    clocks.pass(NS_PER_SECOND);
    uint64_t rate = profiler_clock.ns_per_tick_q32;
    int64_t step = GENERATE(3600000000000, -3600000000000, 10000000, -10000000);
    fake_system.realtime_ns += (uint64_t)step;
    CHECK(clocks.pass(NS_PER_SECOND));
    CHECK(profiler_clock.ns_per_tick_q32 == rate);
    CHECK(clocks.off_by() == 0);
    CHECK_FALSE(clocks.pass(NS_PER_SECOND));
    CHECK(clocks.off_by() == 0);
}

TEST_CASE("the rate is trusted as far as the pairs that it comes from allow", "[clock]")
{
    Clocks clocks;
    CHECK(clock_trusted_ticks() == NS_PER_SECOND / 1000);
    clocks.pass(NS_PER_SECOND / 1000);
    CHECK(clock_trusted_ticks() == 16 * NS_PER_SECOND / 1000);
    clocks.pass(NS_PER_SECOND);
    CHECK(clock_trusted_ticks() > 16 * NS_PER_SECOND);
}

TEST_CASE("of three readings the tightest makes the pair", "[clock]")
{
    Clocks clocks;
    fake_system.ns_a_reading = 100;
    clocks.pass(NS_PER_SECOND);
    CHECK(std::llabs(clocks.off_by()) <= 1000);
}

TEST_CASE("the processor's counter keeps the wall clock's time", "[clock]")
{
    Sandbox sandbox;
    clock_start(true);
    if (!profiler_clock.is_counter) {
        WARN("skipped: this processor has no invariant tick counter");
        return;
    }
    struct timespec a_while = { 0, 20000000 };
    nanosleep(&a_while, nullptr);
    clock_calibrate();
    nanosleep(&a_while, nullptr);
    int64_t least = INT64_MAX; /* of many readings: between the two halves of one the machine may do anything else */
    for (int i = 0; i < 1000; i++)
        least = std::min<int64_t>(least, std::llabs((int64_t)(clock_wall_ns(tick_now()) - clock_read(CLOCK_REALTIME))));
    CHECK(least < 200000);
}

TEST_CASE("ticks go on where the counter must not be read for a while", "[clock]")
{
    Sandbox sandbox;
    bool is_counter = GENERATE(true, false);
    clock_start(is_counter);
    struct timespec a_while = { 0, 20000000 };
    nanosleep(&a_while, nullptr);
    clock_calibrate();
    bool was_counter = profiler_clock.is_counter;
    uint64_t before = tick_now();
    clock_avoid_counter();
    CHECK_FALSE(profiler_clock.is_counter);
    nanosleep(&a_while, nullptr);
    uint64_t amid = tick_now();
    clock_use_counter_again();
    uint64_t after = tick_now();
    CHECK(profiler_clock.is_counter == was_counter);
    CHECK(ticks_to_ns(amid - before) > 15000000);
    CHECK((int64_t)(after - amid) > -(int64_t)ns_to_ticks(1000000));
    CHECK(ticks_to_ns(after - before) < 5 * NS_PER_SECOND);
}
