/* The engine's lock: one holder, and the others asleep. */
#include <algorithm>
#include <array>
#include <atomic> /* before the engine's headers, which have atomics of their own */
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "engine_headers.h"

namespace {

/* The letter of /proc/self/task/TID/stat: R runs or would, S sleeps. */
char state_of(int tid)
{
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    size_t end_of_name = text.rfind(')');
    return end_of_name == std::string::npos ? '?' : text.at(end_of_name + 2);
}

} // namespace

TEST_CASE("whoever waits for the lock sleeps until it is given", "[lock]")
{
    const int timeout_ms = 120000;
    struct lock lock = {};
    struct held_lock held = lock_take(&lock);
    std::atomic<int> tid{ 0 };
    std::thread waiter([&] {
        tid = gettid();
        lock_give(lock_take(&lock));
    });
    bool is_asleep = false;
    for (int ms = 0; ms < timeout_ms && !is_asleep; ms++) {
        usleep(1000);
        is_asleep = tid != 0 && state_of(tid) == 'S';
    }
    lock_give(held);
    waiter.join();
    CHECK(is_asleep);
    CHECK(lock.state == LOCK_FREE);
}

TEST_CASE("the lock has one holder at a time, and nobody waits for ever", "[lock]")
{
    const int threads = 8, turns = 5000;
    struct lock lock = {};
    long counter = 0;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back([&] {
            for (int turn = 0; turn < turns; turn++) {
                struct held_lock held = lock_take(&lock);
                long before = counter;
                if (turn % 100 == 0)
                    sched_yield();
                counter = before + 1;
                lock_give(held);
            }
        });
    for (std::thread &worker : workers)
        worker.join();
    CHECK(counter == (long)threads * turns);
}

TEST_CASE("a vforked child that is killed while it holds the lock does not keep it", "[lock]")
{
    bool is_reaped_first = GENERATE(true, false);
    CAPTURE(is_reaped_first);
    static struct lock lock;
    pid_t child = vfork();
    if (child == 0) {
        lock_take(&lock);
        syscall(SYS_kill, raw_getpid(), SIGKILL);
    }
    REQUIRE(child > 0);
    REQUIRE(lock.state == (uint32_t)child);
    if (is_reaped_first)
        waitpid(child, nullptr, 0);
    std::atomic<int> holders{ 0 }, most{ 0 };
    std::vector<std::thread> workers;
    for (int i = 0; i < 3; i++)
        workers.emplace_back([&] {
            struct held_lock held = lock_take(&lock);
            most = std::max<int>(most, ++holders);
            usleep(1000);
            holders--;
            lock_give(held);
        });
    for (std::thread &worker : workers)
        worker.join();
    CHECK(most == 1);
    CHECK(lock.state == LOCK_FREE);
    if (!is_reaped_first)
        waitpid(child, nullptr, 0);
}

TEST_CASE("a child in our memory that lives keeps the lock, however long", "[lock]")
{
    static struct lock lock;
    static std::atomic<bool> is_held, is_done;
    is_held = is_done = false;
    alignas(16) static std::array<char, 65536> stack;
    auto hold = [](void *) -> int {
        struct held_lock held = lock_take(&lock);
        is_held = true;
        usleep((LOCK_TIMEOUT_S * 1000 + 500) * 1000);
        is_done = true;
        lock_give(held);
        return 0;
    };
    pid_t child = clone(hold, stack.data() + stack.size(), CLONE_VM | SIGCHLD, nullptr);
    REQUIRE(child > 0);
    while (!is_held)
        usleep(1000);
    struct held_lock held = lock_take(&lock);
    CHECK(is_done);
    lock_give(held);
    waitpid(child, nullptr, 0);
}
