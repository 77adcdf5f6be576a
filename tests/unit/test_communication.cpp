/* Calls of MPI on their thread's lane: by class and slice, and apart from all I/O. */
#include "catch.h"
#include "sandbox.h"

extern "C" {
#include "communication.h"
}

#include <map>
#include <thread>

namespace {

constexpr uint64_t SLICE_NS = 1000000000;

struct Counting {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };
};

void communicate(Engine &engine, enum mpi_class which, uint64_t ns, uint64_t bytes = 0)
{
    engine.pass(ns);
    struct call call = engine.call(OP_MPI_Wait, ns);
    communication_count(which, call.start_tick, call.end_tick, bytes);
}

void wait_for(Engine &engine, enum thread_wait kind, uint64_t ns)
{
    uint64_t begun = slicewise_thread_wait_begin();
    engine.pass(ns);
    slicewise_thread_wait_end(kind, begun);
}

void write_on(Engine &engine, uint32_t mount, uint64_t ns)
{
    engine.pass(ns);
    struct call call = engine.call(OP_MPI_File_write, ns);
    call_mpi_moved(&call, mount, 1);
}

std::map<uint64_t, uint64_t> by_slice(const Spool &spool, enum mpi_class which, const char *column)
{
    std::map<uint64_t, uint64_t> sums;
    for (const Row &row : spool.rows("communication"))
        if (row["class"] == (uint64_t)which && row[column] != 0)
            sums[row["slice"]] += row[column];
    return sums;
}

/* A call of MPI within which files are written begins in the caller's frame. */
inline __attribute__((always_inline)) struct call open_call(Engine &engine)
{
    thread_state.mpi_frame = __builtin_frame_address(0);
    thread_state.mpi_return = __builtin_return_address(0);
    struct call call = engine.call(OP_MPI_File_write, 0);
    communication_open(MPI_CLASS_file, call.start_tick);
    return call;
}

void close_call(Engine &engine, const struct call &call)
{
    thread_state.mpi_frame = nullptr;
    communication_close(MPI_CLASS_file, call.start_tick, engine.call(OP_MPI_File_write, 0).end_tick);
}

} // namespace

TEST_CASE_METHOD(Counting, "calls of MPI are added up by class, and are no I/O", "[communication]")
{
    for (int i = 0; i < 1000; i++)
        communicate(engine, MPI_CLASS_test, 100);
    communicate(engine, MPI_CLASS_message, 2000, 64);
    Spool spool = engine.finish();
    CHECK(by_slice(spool, MPI_CLASS_test, "calls") == std::map<uint64_t, uint64_t>{ { 1000, 1000 } });
    CHECK(by_slice(spool, MPI_CLASS_test, "ns") == std::map<uint64_t, uint64_t>{ { 1000, 100000 } });
    CHECK(by_slice(spool, MPI_CLASS_message, "bytes") == std::map<uint64_t, uint64_t>{ { 1000, 64 } });
    for (const Row &row : spool.rows("slices"))
        CHECK(row["layer"] == (uint64_t)LAYER_kernel);
}

TEST_CASE_METHOD(Counting, "a call that spans slices is in each of them, and ends in one", "[communication]")
{
    communicate(engine, MPI_CLASS_barrier, SLICE_NS / 2);
    communicate(engine, MPI_CLASS_collective, 3 * SLICE_NS, 3000);
    Spool spool = engine.finish();
    CHECK(by_slice(spool, MPI_CLASS_collective, "ns") ==
          std::map<uint64_t, uint64_t>{ { 1000, SLICE_NS / 2 }, { 1001, SLICE_NS }, { 1002, SLICE_NS }, { 1003, SLICE_NS / 2 } });
    CHECK(by_slice(spool, MPI_CLASS_collective, "bytes") ==
          std::map<uint64_t, uint64_t>{ { 1000, 500 }, { 1001, 1000 }, { 1002, 1000 }, { 1003, 500 } });
    CHECK(by_slice(spool, MPI_CLASS_collective, "calls") == std::map<uint64_t, uint64_t>{ { 1003, 1 } });
}

TEST_CASE_METHOD(Counting, "more slices of communication than a frame has records for are all there", "[communication]")
{
    for (int slice = 0; slice < 300; slice++) {
        for (unsigned which = 0; which < MPI_CLASSES; which++)
            communicate(engine, (enum mpi_class)which, 1000, which);
        engine.pass(SLICE_NS);
    }
    Spool spool = engine.finish();
    CHECK(spool.is_gapless());
    CHECK(spool.sum("communication", "calls") == 300 * MPI_CLASSES);
    CHECK(spool.sum("communication", "bytes") == 300 * (MPI_CLASSES * (MPI_CLASSES - 1) / 2));
    CHECK(by_slice(spool, MPI_CLASS_file, "calls").size() == 300);
}

TEST_CASE_METHOD(Counting, "waits for threads are added up by kind and slice, those of the first thread also apart", "[communication]")
{
    std::thread([this] { wait_for(engine, THREAD_WAIT_condition, 4000); }).join();
    wait_for(engine, THREAD_WAIT_lock, 1000);
    wait_for(engine, THREAD_WAIT_lock, SLICE_NS);
    communication_choose(false);
    wait_for(engine, THREAD_WAIT_lock, 0);
    communication_choose(true);
    uint64_t begun = slicewise_thread_wait_begin();
    thread_state.mpi_frame = __builtin_frame_address(0);
    thread_state.mpi_return = __builtin_return_address(0);
    slicewise_thread_wait_end(THREAD_WAIT_barrier, begun); /* within a call of MPI */
    thread_state.mpi_frame = nullptr;
    Spool spool = engine.finish();
    CHECK(spool.sum("thread_waits", "waits") == 4);
    CHECK(spool.sum("thread_waits", "ns") == SLICE_NS + 5000);
    CHECK(spool.sum("thread_waits", "main_ns") == SLICE_NS + 1000);
    std::map<uint64_t, uint64_t> by_slice, by_kind;
    for (const Row &row : spool.rows("thread_waits")) {
        by_slice[row["slice"]] += row["ns"];
        by_kind[row["kind"]] += row["ns"];
    }
    CHECK(by_slice == std::map<uint64_t, uint64_t>{ { 1000, SLICE_NS }, { 1001, 5000 } });
    CHECK(by_kind == std::map<uint64_t, uint64_t>{ { THREAD_WAIT_lock, SLICE_NS + 1000 }, { THREAD_WAIT_condition, 4000 } });
    CHECK(spool.rows("communication").empty());
}

TEST_CASE_METHOD(Counting, "waits find room beside I/O on more mounts than a lane has cells", "[communication]")
{
    for (unsigned round = 0; round < 3; round++)
        for (unsigned mount = 0; mount < CELLS + 2; mount++) {
            write_on(engine, mount, 1000);
            wait_for(engine, THREAD_WAIT_lock, 1000);
        }
    Spool spool = engine.finish();
    CHECK(spool.sum("slices", "write_bytes") == 3 * (CELLS + 2));
    CHECK(spool.sum("thread_waits", "waits") == 3 * (CELLS + 2));
    CHECK(spool.sum("thread_waits", "ns") == 3 * (CELLS + 2) * 1000);
}

TEST_CASE_METHOD(Counting, "communication beside I/O in one slice leaves it as it is", "[communication]")
{
    write_on(engine, MOUNT_OTHER, 1000);
    communicate(engine, MPI_CLASS_wait, 1000);
    engine.pass(SLICE_NS);
    communicate(engine, MPI_CLASS_wait, 1000);
    write_on(engine, MOUNT_OTHER, 1000);
    Spool spool = engine.finish();
    CHECK(spool.sum("slices", "write_bytes") == 2);
    CHECK(spool.sum("communication", "calls") == 2);
}

TEST_CASE_METHOD(Counting, "time on files within a call is taken off it", "[communication]")
{
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    for (int turn = 0; turn < 3; turn++) { /* within one slice, and with a slice's turn in the midst */
        struct call outer = open_call(engine);
        engine.pass(1000);
        for (int i = 0; i < 2; i++) {
            engine.pass(turn == 2 ? SLICE_NS : 3000);
            struct call inner = engine.call(OP_pwrite, 3000);
            call_wrote(&inner, fd, i, 1);
        }
        close_call(engine, outer);
    }
    close(fd);
    Spool spool = engine.finish();
    CHECK(spool.sum("communication", "calls") == 3);
    uint64_t expected = 2 * 1000 + 1000 + 2 * (SLICE_NS - 3000), ns = spool.sum("communication", "ns"); /* by ticks, each rounded down */
    CHECK(ns <= expected + 20);
    CHECK(ns + 20 >= expected);
}

TEST_CASE_METHOD(Counting, "what a call took beside files is in the slices in which it took it", "[communication]")
{
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    constexpr uint64_t TENTH = SLICE_NS / 10;
    auto write_for = [&](uint64_t ns) {
        engine.pass(ns);
        struct call inner = engine.call(OP_pwrite, ns);
        call_wrote(&inner, fd, 0, 1);
    };
    communicate(engine, MPI_CLASS_barrier, 1000); /* the thread has counters of its own */
    engine.pass(SLICE_NS - 1000);
    struct call outer = open_call(engine);
    engine.pass(2 * TENTH);
    write_for(5 * TENTH);
    engine.pass(8 * TENTH); /* into the second slice */
    write_for(TENTH);
    engine.pass(15 * TENTH); /* past the third */
    write_for(5 * TENTH);
    engine.pass(2 * TENTH);
    write_for(4 * TENTH); /* into the fifth */
    engine.pass(TENTH);
    close_call(engine, outer);
    close(fd);
    Spool spool = engine.finish();
    CHECK(by_slice(spool, MPI_CLASS_file, "calls") == std::map<uint64_t, uint64_t>{ { 1005, 1 } });
    auto rounded = by_slice(spool, MPI_CLASS_file, "ns");
    for (auto &[slice, ns] : rounded)
        ns = (ns + 50) / 100 * 100; /* by ticks, each rounded down */
    CHECK(rounded == std::map<uint64_t, uint64_t>{
                         { 1001, 5 * TENTH }, { 1002, 9 * TENTH }, { 1003, 10 * TENTH }, { 1004, 3 * TENTH }, { 1005, TENTH } });
}

TEST_CASE_METHOD(Counting, "a call that was jumped out of takes no time of what follows", "[communication]")
{
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    communicate(engine, MPI_CLASS_barrier, 1000);
    [&]() __attribute__((noinline)) { open_call(engine); }();
    engine.pass(SLICE_NS);
    struct call inner = engine.call(OP_pwrite, 1000);
    call_wrote(&inner, fd, 0, 1);
    close(fd);
    Spool spool = engine.finish();
    CHECK(by_slice(spool, MPI_CLASS_file, "ns").empty());
}

TEST_CASE_METHOD(Counting, "time on files of a thread whose counters are handed on is taken off no call", "[communication]")
{
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    auto write_for = [&](uint64_t ns) {
        engine.pass(ns);
        struct call inner = engine.call(OP_pwrite, ns);
        call_wrote(&inner, fd, 0, 1);
    };
    std::thread([&] {
        write_for(300000);
        lane_release(&thread_state);
    }).join();
    std::thread([&] {
        for (int i = 0; i < 2; i++) { /* and once more, when it had given its own back, as a destructor of its may */
            struct call outer = open_call(engine);
            engine.pass(1000);
            write_for(3000);
            close_call(engine, outer);
            lane_release(&thread_state);
        }
    }).join();
    close(fd);
    Spool spool = engine.finish();
    uint64_t ns = spool.sum("communication", "ns");
    CHECK(ns <= 2 * 1000 + 20);
    CHECK(ns + 20 >= 2 * 1000);
}

TEST_CASE_METHOD(Counting, "nothing is counted where a setting says so", "[communication]")
{
    communication_choose(false);
    communicate(engine, MPI_CLASS_wait, 1000);
    communication_choose(true);
    Spool spool = engine.finish();
    CHECK(spool.rows("communication").empty());
}
