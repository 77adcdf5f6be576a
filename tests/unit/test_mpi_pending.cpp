/* I/O of MPI that one call begins and another completes. */
#include "catch.h"
#include "sandbox.h"

#include <set>
#include <thread>
#include <vector>

extern "C" {
#include "mpi_pending.h"
}

namespace {

constexpr uint64_t SLICE_NS = 1000000000;
constexpr int MOST = 4096; /* as many as the table has places */

struct Pending {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };

    Pending() { REQUIRE(key_table_used(&mpi_pending_table) == 0); }
    ~Pending() { mpi_pending_finish_all(); }
    void enter(uint64_t key, int64_t asked = 100, enum operation operation = OP_MPI_File_iwrite)
    {
        mpi_pending begun = {};
        begun.call = engine.call(operation, 0);
        begun.asked = asked;
        begun.key = key;
        begun.mount = MOUNT_OTHER;
        mpi_pending_enter(&begun);
    }
    bool finish(uint64_t key, int64_t moved)
    {
        mpi_pending *found = mpi_pending_claim(key);
        if (found == nullptr)
            return false;
        struct call completing = engine.call(OP_MPI_Wait, 0);
        mpi_pending_finish(found, &completing, moved);
        return true;
    }
    uint64_t counted(enum counter counter, enum layer layer = LAYER_mpiio)
    {
        const counts *found = engine.open_counts(MOUNT_OTHER, layer);
        return found != nullptr ? found->counter[counter] : 0;
    }
    uint64_t problems() { return ::engine.home.segment->problems[PROBLEM_completion_unseen]; }
};

} // namespace

TEST_CASE("what was begun counts once, when it is complete, from its beginning on", "[mpi_pending]")
{
    Pending pending;
    pending.enter(0x1000);
    CHECK(mpi_pending_any());
    CHECK(pending.counted(COUNTER_write_ops) == 0);
    pending.engine.pass(7000);
    CHECK(pending.finish(0x1000, 60));
    CHECK_FALSE(pending.finish(0x1000, 60));
    CHECK(pending.counted(COUNTER_write_ops) == 1);
    CHECK(pending.counted(COUNTER_write_bytes) == 60);
    CHECK(pending.counted(COUNTER_write_ns) == 7000);
    CHECK_FALSE(mpi_pending_any());
    CHECK(pending.problems() == 0);
}

TEST_CASE("what failed counts as an error, without bytes", "[mpi_pending]")
{
    Pending pending;
    pending.enter(0x1000, 100, OP_MPI_File_iread_all);
    CHECK(pending.finish(0x1000, -1));
    CHECK(pending.counted(COUNTER_errors, LAYER_mpiio_coll) == 1);
    CHECK(pending.counted(COUNTER_read_bytes, LAYER_mpiio_coll) == 0);
}

TEST_CASE("what is claimed nobody else finds, until it is given back", "[mpi_pending]")
{
    Pending pending;
    pending.enter(0x1000);
    mpi_pending *claimed = mpi_pending_claim(0x1000);
    REQUIRE(claimed != nullptr);
    CHECK(mpi_pending_claim(0x1000) == nullptr);
    mpi_pending_give_back(claimed);
    CHECK(pending.finish(0x1000, 100));
}

TEST_CASE("a key that comes again says that the earlier one completed unseen", "[mpi_pending]")
{
    Pending pending;
    pending.enter(0x1000, 100);
    pending.engine.pass(5000);
    pending.enter(0x1000, 30);
    CHECK(pending.counted(COUNTER_write_bytes) == 100);
    CHECK(pending.counted(COUNTER_write_ns) == 0); /* no longer than the call that began it */
    CHECK(pending.problems() == 1);
    CHECK(pending.finish(0x1000, 30));
    CHECK(pending.counted(COUNTER_write_bytes) == 130);
}

TEST_CASE("a full table counts what does not fit at once, and loses nothing", "[mpi_pending]")
{
    Pending pending;
    for (uint64_t key = 0; key < 2 * MOST; key++)
        pending.enter(0x10000 + key * 64);
    uint64_t at_once = pending.counted(COUNTER_write_ops), entered = key_table_used(&mpi_pending_table);
    CHECK(entered <= MOST);
    CHECK(at_once + entered == 2 * MOST);
    CHECK(pending.problems() == at_once);
    uint64_t found = 0;
    for (uint64_t key = 0; key < 2 * MOST; key++)
        found += pending.finish(0x10000 + key * 64, 100);
    CHECK(found == entered);
    CHECK(pending.counted(COUNTER_write_bytes) == 2 * MOST * 100);
}

TEST_CASE("1 is a key like others", "[mpi_pending]")
{
    Pending pending;
    CHECK_FALSE(pending.finish(1, 60));
    pending.enter(1);
    CHECK(mpi_pending_any());
    CHECK(pending.finish(1, 60));
    CHECK(pending.counted(COUNTER_write_bytes) == 60);
}

TEST_CASE("0 is no request: it is counted at once, as asked for, and not searched for", "[mpi_pending]")
{
    Pending pending;
    pending.enter(0);
    CHECK_FALSE(mpi_pending_any());
    CHECK(pending.counted(COUNTER_write_bytes) == 100);
    CHECK(pending.problems() == 1);
    CHECK_FALSE(pending.finish(0, 60));
}

TEST_CASE("a file is another key than a request at its address", "[mpi_pending]")
{
    Pending pending;
    pending.enter(mpi_pending_key_of_file(reinterpret_cast<mpi_handle>(0x1000)));
    CHECK(mpi_pending_claim(0x1000) == nullptr);
    CHECK(pending.finish(mpi_pending_key_of_file(reinterpret_cast<mpi_handle>(0x1000)), 100));
}

TEST_CASE("at the end all that is left is counted as asked for, claimed or not", "[mpi_pending]")
{
    Pending pending;
    for (uint64_t key = 1; key <= 10; key++)
        pending.enter(key << 12);
    CHECK(mpi_pending_claim(3 << 12) != nullptr); /* by a thread that was cancelled */
    mpi_pending_finish_all();
    CHECK(pending.counted(COUNTER_write_ops) == 10);
    CHECK(pending.counted(COUNTER_write_bytes) == 10 * 100);
    CHECK(pending.problems() == 10);
    CHECK_FALSE(mpi_pending_any());
}

TEST_CASE("of several threads that look for the same request one finds it", "[mpi_pending]")
{
    Pending pending;
    constexpr unsigned REQUESTS = 500;
    for (uint64_t key = 1; key <= REQUESTS; key++)
        pending.enter(key << 12);
    std::vector<std::vector<mpi_pending *>> claimed(4);
    std::vector<std::thread> threads;
    for (auto &own : claimed)
        threads.emplace_back([&own] {
            for (uint64_t key = 1; key <= REQUESTS; key++)
                if (mpi_pending *found = mpi_pending_claim(key << 12); found != nullptr)
                    own.push_back(found);
        });
    for (std::thread &thread : threads)
        thread.join();
    std::set<mpi_pending *> all;
    size_t count = 0;
    for (const auto &own : claimed) {
        all.insert(own.begin(), own.end());
        count += own.size();
    }
    CHECK(count == REQUESTS);
    CHECK(all.size() == REQUESTS);
}
