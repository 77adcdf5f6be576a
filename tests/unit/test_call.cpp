/* The hot path, call by call against a plain reference. */
#include "catch.h"
#include "sandbox.h"

#include <alloca.h>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/sysmacros.h>

namespace {

constexpr uint64_t SLICE_NS = 1000000000;

/* The engine on, and a file to work with; `mount` is the file's. */
struct Work {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    uint32_t mount = descriptor_mount(descriptor_of(fd));

    ~Work() { close(fd); }
    void write(int64_t offset, int64_t moved, uint64_t ns = 1000)
    {
        engine.pass(ns);
        struct call call = engine.call(OP_pwrite, ns);
        call_wrote(&call, fd, offset, moved);
    }
    void read(int64_t offset, int64_t moved, uint64_t ns = 1000)
    {
        engine.pass(ns);
        struct call call = engine.call(OP_pread, ns);
        call_read(&call, fd, offset, moved);
    }
    const counts &open_counts() const
    {
        const counts *found = engine.open_counts(mount, LAYER_posix);
        REQUIRE(found != nullptr);
        return *found;
    }
};

/* The bin of a value among ascending lower edges. */
unsigned plain_bin(const std::vector<uint64_t> &edges, uint64_t value)
{
    unsigned bin = 0;
    while (bin + 1 < edges.size() && value >= edges[bin + 1])
        bin++;
    return bin;
}

const std::vector<uint64_t> size_edges = { 0, 101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825 };

std::vector<uint64_t> latency_edges()
{
    std::vector<uint64_t> edges = { 0 };
    for (unsigned bin = 1; bin < 28; bin++)
        edges.push_back(128ull << (bin - 1));
    return edges;
}

} // namespace

TEST_CASE("sizes fall into the bins that the schema names, at every edge", "[call]")
{
    Work work;
    std::vector<uint64_t> sizes = { 0, 1 };
    for (unsigned bit = 0; bit < 40; bit++)
        sizes.insert(sizes.end(), { (1ull << bit) - 1, 1ull << bit, (1ull << bit) + 1 });
    for (uint64_t edge : size_edges)
        sizes.insert(sizes.end(), { edge > 0 ? edge - 1 : 0, edge, edge + 1 });
    std::vector<uint64_t> expected(10);
    for (uint64_t size : sizes) {
        work.write(0, (int64_t)size);
        work.read(0, (int64_t)size);
        expected[plain_bin(size_edges, size)]++;
        CAPTURE(size);
        for (unsigned bin = 0; bin < 10; bin++) {
            REQUIRE(work.open_counts().bin[BINS_write_size + bin] == expected[bin]);
            REQUIRE(work.open_counts().bin[BINS_read_size + bin] == expected[bin]);
        }
    }
}

TEST_CASE("durations fall into bins that double, at every edge", "[call]")
{
    Work work;
    const auto edges = latency_edges();
    std::vector<uint64_t> durations = { 0, 1 };
    for (uint64_t edge : edges)
        durations.insert(durations.end(), { edge > 0 ? edge - 1 : 0, edge, edge + 1 });
    std::vector<uint64_t> expected(28);
    uint64_t counted[28] = {};
    for (uint64_t ns : durations) {
        work.write(0, 1, ns);
        expected[plain_bin(edges, ns)]++;
    }
    for (const Row &row : work.engine.finish().rows("slices"))
        for (unsigned bin = 0; bin < 28; bin++)
            counted[bin] += row["write_latency_" + std::to_string(bin)];
    for (unsigned bin = 0; bin < 28; bin++) {
        CAPTURE(bin);
        CHECK(counted[bin] == expected[bin]);
    }
}

TEST_CASE("what follows on what is sequential, and without a hole consecutive", "[call]")
{
    Work work;
    auto sequential = [&] { return work.open_counts().counter[COUNTER_write_sequential]; };
    auto consecutive = [&] { return work.open_counts().counter[COUNTER_write_consecutive]; };
    work.write(4096, 100);
    CHECK((sequential() == 0 && work.open_counts().counter[COUNTER_write_first] == 1));
    work.write(4196, 100);
    CHECK((sequential() == 1 && consecutive() == 1));
    work.write(5000, 100);
    CHECK((sequential() == 2 && consecutive() == 1));
    work.write(0, 100);
    CHECK((sequential() == 2 && consecutive() == 1));
    work.read(100, 50);
    CHECK(work.open_counts().counter[COUNTER_read_consecutive] == 1);

    /* By the descriptor's own position, from wherever that is. */
    work.write(NO_OFFSET, 10);
    work.write(NO_OFFSET, 10);
    CHECK(consecutive() == 2);
    struct call seek = work.engine.call(OP_lseek, 0);
    call_sought(&seek, work.fd, 0);
    work.write(NO_OFFSET, 10);
    CHECK(consecutive() == 2);
    CHECK(work.open_counts().counter[COUNTER_write_first] == 2);
    CHECK(work.open_counts().counter[COUNTER_read_first] == 0);
}

TEST_CASE("a call that failed is an error of no bytes", "[call]")
{
    Work work;
    work.write(0, -1, 5000);
    const counts &counts = work.open_counts();
    CHECK(counts.counter[COUNTER_write_ops] == 1);
    CHECK(counts.counter[COUNTER_errors] == 1);
    CHECK(counts.counter[COUNTER_write_bytes] == 0);
    CHECK(counts.counter[COUNTER_write_ns] == 5000);
    CHECK(counts.bin[BINS_write_size] == 1);
}

TEST_CASE("errno is the callee's, whatever counting did to it", "[call]")
{
    Work work;
    struct call call = work.engine.call(OP_read, 100);
    errno = EDQUOT;
    call_end(&call);
    call_read(&call, 1 << 19, NO_OFFSET, -1); /* no such descriptor: looking at it fails */
    errno = ENOENT;
    call_close(&call);
    CHECK(errno == EDQUOT);
}

TEST_CASE("bytes and time of a call are in the slices that it spanned, exactly", "[call]")
{
    Work work;
    work.engine.pass(SLICE_NS / 4); /* 1000.25 s */
    work.write(0, 1, 0);
    uint64_t first = fake_system.realtime_ns / SLICE_NS;
    work.write(1, 1000003, 3 * SLICE_NS); /* to 1003.25 s */
    std::map<uint64_t, std::map<std::string, uint64_t>> slices;
    for (const Row &row : work.engine.finish().rows("slices"))
        if (row["layer"] == LAYER_posix && row["mount"] == work.mount)
            for (const char *counter : { "write_bytes", "write_ns", "write_ops", "write_slowest_ns" })
                slices[row["slice"]][counter] += row[counter];
    REQUIRE(slices.size() == 4);
    CHECK(slices[first]["write_ns"] == 3 * SLICE_NS / 4);
    CHECK(slices[first]["write_bytes"] == 1 + 250000);
    CHECK(slices[first + 1]["write_ns"] == SLICE_NS);
    CHECK(slices[first + 2]["write_ns"] == SLICE_NS);
    CHECK(slices[first + 3]["write_ns"] == SLICE_NS / 4);
    uint64_t bytes = 0;
    for (auto &[slice, counters] : slices)
        bytes += counters["write_bytes"];
    CHECK(bytes == 1 + 1000003);
    /* All but bytes and time is where it ended. */
    CHECK(slices[first]["write_ops"] == 1);
    CHECK(slices[first + 1]["write_ops"] == 0);
    CHECK(slices[first + 3]["write_ops"] == 1);
    CHECK(slices[first + 3]["write_slowest_ns"] == 3 * SLICE_NS);
}

TEST_CASE("a copy within the kernel reads and writes in each of its slices, half of the time each", "[call]")
{
    Work work;
    int to = open(work.sandbox.path("copy").c_str(), O_RDWR | O_CREAT, 0600);
    work.engine.pass(SLICE_NS / 4); /* 1000.25 s */
    work.write(0, 1, 0);
    uint64_t first = fake_system.realtime_ns / SLICE_NS;
    work.engine.pass(3 * SLICE_NS);
    struct call call = work.engine.call(OP_copy_file_range, 3 * SLICE_NS); /* to 1003.25 s */
    call_copied(&call, work.fd, 0, to, 0, 1200000, FETCHED_UNKNOWN);
    std::map<uint64_t, std::map<std::string, uint64_t>> slices;
    for (const Row &row : work.engine.finish().rows("slices"))
        if (row["layer"] == LAYER_posix && row["mount"] == work.mount)
            for (const char *counter : { "read_bytes", "write_bytes", "read_ns", "write_ns", "read_ops", "write_ops" })
                slices[row["slice"]][counter] += row[counter];
    close(to);
    REQUIRE(slices.size() == 4);
    const uint64_t quarters[] = { 3, 4, 4, 1 };
    for (unsigned i = 0; i < 4; i++) {
        CAPTURE(i);
        CHECK(slices[first + i]["read_ns"] == quarters[i] * SLICE_NS / 8);
        CHECK(slices[first + i]["write_ns"] == quarters[i] * SLICE_NS / 8);
        CHECK(slices[first + i]["read_bytes"] == quarters[i] * 100000);
        CHECK(slices[first + i]["write_bytes"] == quarters[i] * 100000 + (i == 0));
        CHECK(slices[first + i]["read_ops"] == (i == 3));
        CHECK(slices[first + i]["write_ops"] == (i == 0) + (i == 3));
    }
}

TEST_CASE("a copy's time is reading's if it fetched what it read, writing's if that lay in memory, else half of each", "[call]")
{
    const uint64_t bytes = 100000000, whole_ns = SLICE_NS / 2, cached_ns = bytes; /* 1 ns a byte */
    struct expected {
        int64_t fetched;
        uint64_t reading_ns;
    };
    const expected cases[] = {
        { bytes, whole_ns - cached_ns }, { bytes / 10, whole_ns - cached_ns }, { bytes / 20, cached_ns }, { 0, cached_ns }, { -1, whole_ns / 2 },
    };
    for (auto [fetched, reading_ns] : cases)
        for (bool spans_slices : { false, true }) {
            CAPTURE(fetched, spans_slices);
            Work work;
            int to = open(work.sandbox.path("copy").c_str(), O_RDWR | O_CREAT, 0600);
            work.engine.pass(spans_slices ? SLICE_NS / 4 : 0);
            work.write(0, 1, 0);
            work.engine.pass(whole_ns);
            if (spans_slices)
                work.engine.pass(SLICE_NS / 2);
            struct call call = work.engine.call(OP_copy_file_range, whole_ns);
            REQUIRE(descriptor_mount(descriptor_of(to)) == work.mount);
            engine.home.segment->mounts[work.mount][mounts_device] = makedev(8, 1); /* a disk */
            uint64_t now = call_fetched(bytes);
            call_copied(&call, work.fd, 0, to, 0, bytes, fetched < 0 ? FETCHED_UNKNOWN : now - (uint64_t)fetched);
            uint64_t read_ns = 0, write_ns = 0;
            for (const Row &row : work.engine.finish().rows("slices"))
                if (row["layer"] == LAYER_posix && row["mount"] == work.mount) {
                    read_ns += row["read_ns"];
                    write_ns += row["write_ns"];
                }
            close(to);
            CHECK(read_ns + write_ns == whole_ns);
            CHECK(std::llabs((int64_t)(read_ns - reading_ns)) <= (int64_t)(whole_ns / 60000)); /* in shares of 1/65536 */
        }
}

TEST_CASE("a call that ends exactly at a slice's end leaves nothing in the next but itself", "[call]")
{
    Work work;
    work.write(0, 500, SLICE_NS); /* 1000 s to 1001 s */
    auto rows = work.engine.finish().rows("slices");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0]["write_ns"] == SLICE_NS);
    CHECK(rows[0]["write_bytes"] == 500);
    CHECK(rows[1]["write_ns"] == 0);
    CHECK(rows[1]["write_ops"] == 1);
}

TEST_CASE("random calls add up to a plain reference, slice by slice", "[call]")
{
    std::mt19937_64 random(GENERATE(range(1, 13)));
    Work work;
    struct Sums {
        uint64_t ops[2] = {}, bytes[2] = {}, ns[2] = {}, errors = 0;
    };
    std::map<uint64_t, Sums> expected, counted;
    uint64_t calls = 0;
    for (int i = 0; i < 400; i++) {
        work.engine.pass(random() % 3 == 0 ? random() % (2 * SLICE_NS) : random() % 1000);
        uint64_t ns = random() % 10 == 0 ? random() % (7 * SLICE_NS) : random() % 2000000;
        int64_t bytes = random() % 20 == 0 ? -1 : (int64_t)(random() >> (random() % 40 + 24));
        unsigned kind = random() % 2;
        (kind == KIND_read ? work.read(0, bytes, ns) : work.write(0, bytes, ns));
        calls++;

        uint64_t end = fake_system.realtime_ns, start = end - ns, moved = bytes > 0 ? (uint64_t)bytes : 0, given_ns = 0, given_bytes = 0;
        for (uint64_t slice = start / SLICE_NS; slice <= end / SLICE_NS; slice++) {
            bool is_last = slice == end / SLICE_NS;
            uint64_t until_ns = is_last ? ns : (slice + 1) * SLICE_NS - start;
            uint64_t until_bytes = is_last ? moved : (uint64_t)((unsigned __int128)moved * until_ns / ns);
            expected[slice].ns[kind] += until_ns - given_ns;
            expected[slice].bytes[kind] += until_bytes - given_bytes;
            given_ns = until_ns;
            given_bytes = until_bytes;
        }
        expected[end / SLICE_NS].ops[kind]++;
        expected[end / SLICE_NS].errors += bytes < 0;
    }
    Spool spool = work.engine.finish();
    CHECK(spool.is_gapless());
    for (const Row &row : spool.rows("slices"))
        if (row["layer"] == LAYER_posix && row["mount"] == work.mount) {
            Sums &sums = counted[row["slice"]];
            const char *const names[2][3] = { { "read_ops", "read_bytes", "read_ns" }, { "write_ops", "write_bytes", "write_ns" } };
            for (unsigned kind = 0; kind < 2; kind++) {
                sums.ops[kind] += row[names[kind][0]];
                sums.bytes[kind] += row[names[kind][1]];
                sums.ns[kind] += row[names[kind][2]];
            }
            sums.errors += row["errors"];
        }
    REQUIRE(counted.size() == expected.size());
    for (const auto &[slice, sums] : expected) {
        CAPTURE(slice);
        for (unsigned kind = 0; kind < 2; kind++) {
            CHECK(counted[slice].ops[kind] == sums.ops[kind]);
            CHECK(counted[slice].bytes[kind] == sums.bytes[kind]);
            CHECK(counted[slice].ns[kind] == sums.ns[kind]);
        }
        CHECK(counted[slice].errors == sums.errors);
    }
    /* The same, by file and by function. */
    uint64_t bytes = spool.sum("slices", "read_bytes") + spool.sum("slices", "write_bytes");
    for (const Row &row : spool.rows("slices"))
        bytes -= row["layer"] == LAYER_kernel ? row["read_bytes"] + row["write_bytes"] : 0;
    CHECK(spool.sum("files", "read_bytes") + spool.sum("files", "write_bytes") == bytes);
    CHECK(spool.sum("calls", "calls") == calls);
}

TEST_CASE("the usual way counts what the long way counts", "[call]")
{
    auto counted = [](bool is_usual) {
        std::mt19937_64 random(7);
        Work work;
        for (int i = 0; i < 500; i++) {
            if (!is_usual && thread_state.lane != nullptr)
                for (stream &stream : thread_state.lane->streams)
                    stream.usual = NOT_USUAL;
            int64_t offset = random() % 2 ? (int64_t)(random() % 5000) : NO_OFFSET;
            int64_t moved = random() % 3 ? (int64_t)(random() >> (random() % 63 + 1)) : 100;
            uint64_t ns = random() >> (random() % 40 + 24);
            if (random() % 5 == 0) {
                struct call seek = work.engine.call(OP_lseek, 10);
                CHECK(call_sought(&seek, work.fd, (int64_t)(random() % 5000)) >= 0);
            }
            (random() % 2 ? work.write(offset, moved, ns) : work.read(offset, moved, ns));
        }
        Spool spool = work.engine.finish();
        std::vector<std::map<std::string, uint64_t>> rows;
        for (const char *table : { "slices", "files", "calls" })
            for (const Row &row : spool.rows(table))
                rows.push_back(row.number);
        return rows;
    };
    CHECK(counted(true) == counted(false));
}

TEST_CASE("a descriptor, a lane or a layer that is another one is not the usual way", "[call]")
{
    Work work;
    struct effect effect = { .kind = KIND_write, .bytes = 10 };
    auto is_usual = [&](enum layer layer) {
        struct call call = work.engine.call(OP_write, 10);
        return count_usual(OP_write, layer, work.fd, NO_OFFSET, call.start_tick, call.end_tick, &effect);
    };
    CHECK_FALSE(is_usual(LAYER_posix)); /* no lane yet */
    work.write(NO_OFFSET, 10);
    CHECK(is_usual(LAYER_posix));
    CHECK_FALSE(is_usual(LAYER_stdio));
    void *volatile frame;
    guard_set(&thread_state, &frame);
    CHECK_FALSE(is_usual(LAYER_posix));
    guard_clear(&thread_state);
    CHECK(is_usual(LAYER_posix));
    descriptor_release(work.fd);
    CHECK_FALSE(is_usual(LAYER_posix));
    work.write(NO_OFFSET, 10); /* looked at anew */
    CHECK(is_usual(LAYER_posix));
    work.engine.pass(SLICE_NS);
    CHECK_FALSE(is_usual(LAYER_posix)); /* the slice is over */
    work.write(NO_OFFSET, 10);
    CHECK(is_usual(LAYER_posix));
    CHECK(work.engine.finish().sum("slices", "write_bytes") == 70);
}

TEST_CASE("a lone thread trusts a descriptor until any descriptor becomes another one", "[call]")
{
    Work work;
    const int other = open(work.sandbox.path("other").c_str(), O_RDWR | O_CREAT, 0600), neighbour = work.fd + STREAMS;
    REQUIRE(dup2(other, neighbour) == neighbour);
    uint64_t calls = 0;
    auto is_served = [&](int fd) {
        bool is_served = count_served(OP_fwrite, KIND_write, fd, 10);
        calls += is_served;
        return is_served;
    };
    auto serve = [&](int fd) {
        if (!is_served(fd)) {
            call_served_unusually(OP_fwrite, KIND_write, fd, 10);
            calls++;
        }
    };
    CHECK_FALSE(is_served(work.fd)); /* no lane yet */
    serve(work.fd);
    serve(work.fd); /* soon after, so that the next ones need no clock */
    CHECK(is_served(work.fd));
    SECTION("it is closed") { descriptor_release(work.fd); }
    SECTION("an unknown one takes its place") { descriptor_copied(other, work.fd); }
    SECTION("a known one takes its place")
    {
        descriptor_of(other);
        descriptor_copied(other, work.fd);
    }
    SECTION("all are closed") { descriptor_release_range(0, 1000); }
    SECTION("another one is closed")
    {
        descriptor_of(other);
        descriptor_release(other);
    }
    SECTION("it is used otherwise") { work.write(NO_OFFSET, 0); }
    SECTION("another one has its place in the lane") { serve(neighbour); }
    SECTION("its slice is closed") { lane_close(&engine.home, thread_state.lane_index, true); }
    SECTION("the thread has another lane") { lane_release(&thread_state); }
    CHECK_FALSE(is_served(work.fd));
    serve(work.fd);
    serve(work.fd);
    CHECK(is_served(work.fd));
    close(other);
    close(neighbour);
    Spool spool = work.engine.finish();
    uint64_t ops = 0, bytes = 0;
    for (const Row &row : spool.rows("slices"))
        if (row["layer"] == LAYER_stdio) {
            ops += row["write_ops"];
            bytes += row["write_bytes"];
        }
    CHECK(ops == calls);
    CHECK(bytes == 10 * calls);
}

/* Runs `work` in a signal handler, on the stack or (SA_ONSTACK) on one of its own. */
static std::function<void()> handlers_work;
static void in_handler(int flags, std::function<void()> work)
{
    handlers_work = std::move(work);
    struct sigaction action = {}, before;
    action.sa_handler = [](int) { handlers_work(); };
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
}

/* Bookkeeping that a handler jumps out of, in a frame `bytes` deep. */
__attribute__((noinline)) static void leave_bookkeeping(size_t bytes)
{
    auto *deep = (volatile unsigned char *)alloca(bytes);
    deep[0] = 1;
    void *volatile frame;
    guard_set(&thread_state, &frame);
}

TEST_CASE("bookkeeping that a handler jumped out of is noticed, wherever the next call comes from", "[call][layout]")
{
    Work work;
    work.write(0, 1);
    auto left = [] { return engine.home.segment->problems[PROBLEM_counting_left]; };
    leave_bookkeeping(16); /* from about as deep */
    work.write(0, 1);
    CHECK(left() == 1);
    leave_bookkeeping(100000); /* from less deep */
    work.write(0, 1);
    CHECK(left() == 2);
    void *volatile frame;
    guard_set(&thread_state, &frame); /* from far deeper, and the frame is overwritten */
    frame = nullptr;
    auto deeper = [&]() __attribute__((noinline)) {
        auto *deep = (volatile unsigned char *)alloca(100000);
        deep[0] = 1;
        work.write(0, 1);
    };
    deeper();
    CHECK(left() == 3);
    /* from a stack that is no more */
    auto *gone = (void **)mmap(nullptr, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    guard_set(&thread_state, gone);
    munmap(gone, PAGE_BYTES);
    work.write(0, 1);
    CHECK(left() == 4);
    CHECK(thread_state.frame == nullptr);
    CHECK(engine.home.segment->lanes_used == 1);
    CHECK(work.engine.finish().sum("slices", "write_ops") == 5);
}

TEST_CASE("a handler on a stack of its own finds the bookkeeping that it interrupted", "[call][layout]")
{
    /* One stack above and one below all others. */
    std::vector<unsigned char> heap(1 << 16);
    unsigned char *mapped = (unsigned char *)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char above[1 << 16];
    for (unsigned char *memory : { heap.data(), mapped, above }) {
        Work work;
        work.write(0, 100);
        stack_t stack = {}, before;
        stack.ss_sp = memory;
        stack.ss_size = 1 << 16;
        sigaltstack(&stack, &before);
        void *volatile frame;
        guard_set(&thread_state, &frame);
        in_handler(SA_ONSTACK, [&] { work.write(100, 7); });
        CHECK(thread_state.frame == &frame);
        in_handler(SA_ONSTACK, [&] {
            leave_bookkeeping(16); /* on that stack, in a call of the handler's own: as if the outer one did not exist */
            work.write(100, 7);
            CHECK(thread_state.frame == nullptr);
        });
        sigaltstack(&before, nullptr);
        CHECK(engine.home.segment->lanes_used == 2);
        CHECK(work.engine.finish().sum("slices", "write_bytes") == 114);
    }
    munmap(mapped, 1 << 16);
}

TEST_CASE("signals that come while the lock is held are given back when the call is counted", "[call]")
{
    Work work;
    work.write(0, 1);
    sigset_t before, after;
    sigprocmask(SIG_BLOCK, nullptr, &before);
    work.engine.pass(SLICE_NS); /* the slice's turn takes the lock */
    work.write(0, 1);
    CHECK(thread_state.keeps_signals == 0);
    CHECK(thread_state.holds_lock == 0);
    sigprocmask(SIG_BLOCK, nullptr, &after);
    CHECK(memcmp(&before, &after, 8) == 0);
}

TEST_CASE("a signal handler in the middle of counting counts on a lane of its own", "[call]")
{
    Work work;
    work.write(0, 100);
    lane *interrupted = thread_state.lane;
    std::vector<unsigned char> before((unsigned char *)interrupted, (unsigned char *)interrupted + LANE_BYTES);

    void *volatile frame;
    guard_set(&thread_state, &frame); /* as it is where the handler finds it */
    in_handler(0, [&] {
        work.write(100, 7);
        struct call sync = work.engine.call(OP_fsync, 10);
        call_touched(&sync, work.fd, false);
    });
    CHECK(thread_state.frame == &frame);
    CHECK(thread_state.lane == interrupted);
    CHECK(std::equal(before.begin(), before.end(), (unsigned char *)interrupted));
    guard_clear(&thread_state);

    CHECK(engine.home.segment->lanes_used == 2);
    CHECK(segment_lane(engine.home.segment, 1)->owner == 0);
    Spool spool = work.engine.finish();
    CHECK(spool.sum("slices", "write_bytes") == 107);
    CHECK(spool.sum("slices", "sync_ops") == 1);
    CHECK(spool.sum("calls", "calls") == 3);
}

TEST_CASE("layers are kept apart, and a thread is counted once in each slice of each", "[call]")
{
    Work work;
    for (int i = 0; i < 3; i++) {
        work.write(0, 10);
        struct call mpi = work.engine.call(OP_MPI_File_write_at_all, 900);
        call_mpi_moved(&mpi, work.mount, 10);
    }
    CHECK(work.open_counts().counter[COUNTER_threads] == 1);
    work.engine.pass(SLICE_NS);
    work.write(0, 10);
    CHECK(work.open_counts().counter[COUNTER_threads] == 1);
    std::map<uint64_t, uint64_t> bytes, threads;
    for (const Row &row : work.engine.finish().rows("slices")) {
        bytes[row["layer"]] += row["write_bytes"];
        threads[row["layer"]] += row["threads"];
    }
    CHECK(bytes[LAYER_posix] == 40);
    CHECK(bytes[LAYER_mpiio_coll] == 30);
    CHECK(threads[LAYER_posix] == 2);
    CHECK(threads[LAYER_mpiio_coll] == 1);
}

TEST_CASE("more mounts in one slice than a lane has cells: nothing is lost", "[call]")
{
    Work work;
    const uint32_t mounts = 3 * CELLS;
    for (int round = 0; round < 2; round++)
        for (uint32_t mount = 0; mount < mounts; mount++) {
            struct call call = work.engine.call(OP_MPI_File_write, 0);
            call_mpi_moved(&call, mount % MOUNTS_MAX, 1 + mount);
        }
    std::map<uint64_t, uint64_t> bytes, expected;
    for (const Row &row : work.engine.finish().rows("slices"))
        bytes[row["mount"]] += row["write_bytes"];
    for (uint32_t mount = 0; mount < mounts; mount++)
        expected[mount % MOUNTS_MAX] += 2 * (1 + mount);
    CHECK(bytes == expected);
}

TEST_CASE("while the engine is off nothing is counted", "[call]")
{
    Work work;
    atomic_store(engine_switch, ENGINE_OFF);
    work.write(0, 100);
    CHECK(thread_state.lane == nullptr);
    atomic_store(engine_switch, ENGINE_ON);
    CHECK(work.engine.finish().rows("slices").empty());
}

TEST_CASE("the cost of a call is measured without leaving a trace", "[call]")
{
    Work work;
    fake_system.ns_a_reading = 5;
    CHECK(call_cost_ps() > 0);
    CHECK(thread_state.lane == nullptr);
    CHECK(work.engine.finish().rows("slices").empty());
}
