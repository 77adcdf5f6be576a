/* Lanes: whose they are, and how slices turn. */
#include "catch.h"
#include "sandbox.h"

#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace
{

constexpr uint64_t SLICE_NS = 1000000000;

struct Counting {
    Sandbox sandbox;
    Engine started{ sandbox, SLICE_NS };
};

void count_on(Engine &engine, uint64_t bytes)
{
    struct call call = engine.call(OP_MPI_File_write, 0);
    call_mpi_moved(&call, MOUNT_OTHER, (int64_t)bytes);
}

std::map<uint64_t, uint64_t> by_slice(const Spool &spool, enum layer layer, const char *counter)
{
    std::map<uint64_t, uint64_t> sums;
    for (const Row &row : spool.rows("slices"))
        if (row["layer"] == (uint64_t)layer && row[counter] != 0)
            sums[row["slice"]] += row[counter];
    return sums;
}

} // namespace

TEST_CASE_METHOD(Counting, "threads have lanes of their own, which are handed on when they end", "[lane]")
{
    count_on(started, 1);
    for (int i = 0; i < 20; i++)
        std::thread([&] {
            count_on(started, 100);
            CHECK(thread_state.lane_index == 1);
            lane_release(&thread_state);
        }).join();
    CHECK(engine.home.segment->lanes_used == 2);
    Spool spool = started.finish();
    CHECK(spool.sum("slices", "write_bytes") == 2001);
    CHECK(spool.sum("slices", "threads") == 21);
}

TEST_CASE_METHOD(Counting, "a lane's slice becomes a record when a call ends in a later one", "[lane]")
{
    count_on(started, 1);
    union commit commit;
    commit.word = engine.home.segment->commit;
    CHECK(commit.records == 0);
    started.pass(SLICE_NS);
    count_on(started, 2);
    commit.word = engine.home.segment->commit;
    CHECK(commit.records >= 1);
    CHECK(segment_record(engine.home.segment, 0)->counts.counter[COUNTER_write_bytes] == 1);
    started.pass(10 * SLICE_NS);
    count_on(started, 4);
    CHECK(by_slice(started.finish(), LAYER_mpiio, "write_bytes") == std::map<uint64_t, uint64_t>{ { 1000, 1 }, { 1001, 2 }, { 1011, 4 } });
}

TEST_CASE_METHOD(Counting, "a clock that is set back or forth loses nothing, and is told", "[lane]")
{
    count_on(started, 1);
    started.pass(SLICE_NS);
    count_on(started, 2);
    fake_system.realtime_ns += (uint64_t)(GENERATE(-500, 500) * (int64_t)SLICE_NS);
    started.pass(20 * SLICE_NS);
    count_on(started, 4);
    CHECK(engine.home.segment->problems[PROBLEM_clock_stepped] == 1);
    Spool spool = started.finish();
    CHECK(spool.sum("slices", "write_bytes") == 7);
    CHECK(by_slice(spool, LAYER_mpiio, "write_bytes").count(fake_system.realtime_ns / SLICE_NS) == 1);
}

TEST_CASE_METHOD(Counting, "with no memory for another lane a thread's calls are dropped, and counted as that", "[lane]")
{
    count_on(started, 1);
    fake_system.failing_syscall = SYS_madvise;
    fake_system.error = ENOMEM;
    std::thread([&] {
        count_on(started, 100);
        count_on(started, 100);
    }).join();
    fake_system.failing_syscall = -1;
    CHECK(engine.home.segment->problems[PROBLEM_calls_dropped] == 2);
    CHECK(started.finish().sum("slices", "write_bytes") == 1);
}

TEST_CASE_METHOD(Counting, "with more threads than lanes whoever waited while another searched in vain does not search, too", "[lane]")
{
    count_on(started, 1);
    struct segment *segment = engine.home.segment;
    segment->lanes_used = LANES_MAX;
    for (uint32_t i = 1; i < LANES_MAX; i++)
        segment_lane(segment, i)->owner = segment_lane(segment, 0)->owner;
    fake_system.counted_syscall = SYS_tgkill;
    constexpr unsigned WAITERS = 8;
    volatile unsigned begun = 0;
    std::vector<std::thread> waiters;
    struct held_lock held = lock_take(&engine.lock);
    for (unsigned i = 0; i < WAITERS; i++)
        waiters.emplace_back([&] {
            __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
            count_on(started, 100);
        });
    while (begun < WAITERS)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lock_give(held);
    for (std::thread &waiter : waiters)
        waiter.join();
    CHECK(fake_system.times == LANES_MAX);
    CHECK(segment->problems[PROBLEM_calls_dropped] == WAITERS);
    segment->lanes_used = 1;
    CHECK(started.finish().sum("slices", "write_bytes") == 1);
}

TEST_CASE("what the kernel counted is in the slice in which it was counted", "[lane][kernel]")
{
    Sandbox sandbox;
    std::string io = sandbox.write("io", "rchar: 1000\nwchar: 0\nsyscr: 3\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n");
    fake_system.self_io = io.c_str();
    own_io = (struct own_io){ 0, 0, 0, 0 };
    Engine started(sandbox, SLICE_NS);
    auto kernel_wrote = [&](uint64_t bytes) {
        sandbox.write("io", "rchar: 1000000\nwchar: " + std::to_string(bytes) + "\nsyscr: 1000\nsyscw: 9\nread_bytes: 0\nwrite_bytes: 0\n");
    };
    count_on(started, 1);
    std::thread other([&] {
        started.pass(3 * SLICE_NS); /* the first thread idles meanwhile */
        count_on(started, 1);
        kernel_wrote(5000);
        started.pass(SLICE_NS);
    });
    other.join();
    count_on(started, 1); /* the first thread's last slice was 1000, and the bytes were written in 1003 */
    CHECK(by_slice(started.finish(), LAYER_kernel, "write_bytes") == std::map<uint64_t, uint64_t>{ { 1003, 5000 } });
}
