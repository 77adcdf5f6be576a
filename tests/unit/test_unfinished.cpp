/* Calls under way when their process was killed: what the collector sees of them, and what becomes of that in the profile. */
#include "catch.h"
#include "sandbox.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
#include "mount.h"
#include "under_way.h"
#include "unfinished.h"
}

namespace fs = std::filesystem;

namespace
{

constexpr uint64_t SECOND = 1000000000, SLICE = 4 * SECOND, MIB = 1 << 20;
constexpr uint32_t THREAD = 77;

/* A process with one thread and files of one mount, the last of the two that it has, which was in a call of a kind when it was killed. */
struct Killed : OneSegment {
    Killed()
    {
        mount_start(&segment.home);
        uint64_t *row = segment->mounts[segment->mounts_used++];
        row[mounts_mount] = 2;
        row[mounts_object] = OBJECT_file;
        row[mounts_point] = segment_add_text(&segment.home, "/scratch");
        lane *lane = segment.lane(0);
        lane->owner = THREAD;
        lane->slice = 1000;
        lane->cells[0].mount = 2;
        lane->cells[0].layer = LAYER_posix;
        lane->cells[0].counts.counter[COUNTER_read_ops] = 1;
        lane->cells[0].counts.counter[COUNTER_read_bytes] = 3;
        lane->cells[0].counts.counter[COUNTER_read_ns] = SECOND / 2;
        lane->cells_used = 1;
    }
    /* From the second second of slice 1000 on. */
    void was_in(enum call_kind kind, uint64_t ns, uint64_t bytes)
    {
        uint64_t begin = 1000 * SLICE + SECOND;
        segment->unfinished[segment->unfinished_used++] = { .thread = THREAD, .mount = 2, .kind = kind, .parts = 1, .begin_ns = begin,
            .first_ns = begin, .last_ns = begin + ns, .bytes = bytes };
    }
    Spool adopted()
    {
        REQUIRE(adopt_segment(segment.home.path, "").outcome == ADOPTED);
        return read_spool(segment.spool);
    }
};

uint64_t in_slice(const Spool &spool, const std::string &layer_column, uint64_t layer, uint64_t slice, const std::string &column)
{
    uint64_t sum = 0;
    for (const Row &row : spool.rows("slices"))
        sum += row[layer_column] == layer && row["slice"] == slice ? row[column] : 0;
    return sum;
}

/* /proc of one process with one thread that reads 64 MiB at a time from a file below /scratch. */
struct Node {
    Sandbox sandbox;
    std::string root = sandbox.path("root");
    under_way_table table = {};
    Node()
    {
        fs::create_directories(root + "/proc/7/task/7");
        fs::create_directories(root + "/proc/7/fdinfo");
        fs::create_directories(root + "/proc/7/fd");
        sandbox.write("root/proc/7/status", "Name:\ta\nNSpid:\t7\n");
        sandbox.write("root/proc/7/stat", "7 (a) D 1 1 1 0 -1 0 9 0 0 0 3 4 0 0 20 0 1 0 500 0 0\n");
        sandbox.write("root/proc/7/fdinfo/5", "pos:\t0\nflags:\t0100000\nmnt_id:\t40\nino:\t12\n");
        sandbox.write("root/proc/7/fd/5", "");
        sandbox.write("root/proc/7/mountinfo", "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 30 7:0 / /scratch rw,relatime shared:9 - ext4 /dev/loop0 rw\n");
        is_in("0 0x5 0x7f00 0x4000000 0x0 0x0 0x0 0x7ffe 0x7f01");
    }
    void is_in(const std::string &call) const { sandbox.write("root/proc/7/syscall", call + "\n"); }
    void has(uint64_t calls, uint64_t returned, uint64_t fetched) const
    {
        sandbox.write("root/proc/7/task/7/io", "rchar: " + std::to_string(returned) + "\nwchar: 0\nsyscr: " + std::to_string(calls) +
                                                   "\nsyscw: 0\nread_bytes: " + std::to_string(fetched) +
                                                   "\nwrite_bytes: 0\ncancelled_write_bytes: 0\n");
    }
    void look(uint64_t former_ns = 1) { under_way_look(&table, root.c_str(), 7, 7, former_ns); }
    /* What is then in a segment of the process. */
    void note(Segment &segment)
    {
        segment->pid = 7;
        segment->pid_namespace = 0;
        int fd = open(segment.home.path, O_RDWR);
        under_way_note(&table, fd, segment.home.segment);
        close(fd);
    }
};

} // namespace

TEST_CASE_METHOD(Killed, "a call that was under way counts with its time and its bytes, in the slices in which it was", "[unfinished]")
{
    was_in(KIND_read, 7 * SECOND, 70 * MIB); /* 3 s in slice 1000, 4 in 1001 */
    Spool spool = adopted();
    CHECK(in_slice(spool, "layer", LAYER_posix, 1000, "read_bytes") == 3 + 30 * MIB);
    CHECK(in_slice(spool, "layer", LAYER_posix, 1000, "read_ns") == 7 * SECOND / 2);
    CHECK(in_slice(spool, "layer", LAYER_posix, 1001, "read_bytes") == 40 * MIB);
    CHECK(in_slice(spool, "layer", LAYER_posix, 1001, "read_ns") == 4 * SECOND);
    CHECK(in_slice(spool, "layer", LAYER_posix, 1001, "read_ops") == 1);
    CHECK(in_slice(spool, "layer", LAYER_kernel, 1001, "kernel_read_bytes") == 40 * MIB);
    CHECK(spool.sum("slices", "read_ops") == 2);
    CHECK(spool.rows("processes").at(0)["end_ns"] == 1000 * SLICE + 8 * SECOND);
    CHECK(spool.sum("files", "read_bytes") == 70 * MIB);
    auto mishaps = spool.rows("mishaps");
    REQUIRE(mishaps.size() == 1);
    CHECK(mishaps[0]["mishap"] == PROBLEM_unfinished_calls);
    CHECK(mishaps[0]["count"] == 1);
}

TEST_CASE_METHOD(Killed, "a sync has time and no bytes", "[unfinished]")
{
    was_in(KIND_sync, 7 * SECOND, 0);
    Spool spool = adopted();
    CHECK(spool.sum("slices", "sync_ns") == 7 * SECOND);
    CHECK(spool.sum("slices", "read_bytes") == 3);
}

TEST_CASE_METHOD(Killed, "a call that came back after it was seen is counted by its wrapper alone", "[unfinished]")
{
    was_in(KIND_read, 7 * SECOND, 70 * MIB);
    SECTION("in a later slice") { segment.lane(0)->slice = 1001; }
    SECTION("perhaps in the same one") { segment->unfinished[0].last_ns = segment->unfinished[0].begin_ns + 2 * SECOND; }
    SECTION("and its thread is gone") { segment.lane(0)->owner = 0; }
    CHECK(adopted().sum("slices", "read_bytes") == 3);
}

TEST_CASE_METHOD(Killed, "what nobody can have noted is passed over", "[unfinished]")
{
    was_in(KIND_read, 7 * SECOND, 70 * MIB);
    SECTION("a mount that is not there") { segment->unfinished[0].mount = 9; }
    SECTION("a kind of call that is none") { segment->unfinished[0].kind = (enum call_kind)77; }
    SECTION("an end before its begin") { segment->unfinished[0].last_ns = 1; }
    SECTION("no end at all") { segment->unfinished[0].last_ns = UINT64_MAX; }
    CHECK(adopted().sum("slices", "read_bytes") == 3);
}

TEST_CASE_METHOD(Killed, "of a process that left by itself nothing was under way", "[unfinished]")
{
    was_in(KIND_read, 7 * SECOND, 70 * MIB);
    segment->state = SEGMENT_LEAVING;
    CHECK(adopted().sum("slices", "read_bytes") == 3);
}

TEST_CASE_METHOD(Killed, "a call in which a thread was seen more than once is noted, with what the kernel counts", "[unfinished]")
{
    Node node;
    node.has(10, 100 * MIB, 100 * MIB);
    node.look();
    node.has(11, 164 * MIB, 172 * MIB); /* another one, which has 8 MiB already */
    node.look();
    node.note(segment);
    CHECK(segment->unfinished_used == 0);
    node.has(11, 164 * MIB, 180 * MIB);
    node.look();
    node.has(11, 164 * MIB, 190 * MIB);
    node.look();
    node.note(segment);
    REQUIRE(segment->unfinished_used == 1);
    const unfinished &call = segment->unfinished[0];
    CHECK(call.thread == 7);
    CHECK(call.mount == 2);
    CHECK(call.kind == KIND_read);
    CHECK(call.bytes == 26 * MIB);
    CHECK(call.begin_ns <= call.first_ns);
    CHECK(call.first_ns < call.last_ns);
}

TEST_CASE_METHOD(Killed, "no more is noted than the call asked for", "[unfinished]")
{
    Node node;
    node.has(1, 0, 0);
    node.look();
    node.has(1, 0, 80 * MIB); /* the kernel read ahead */
    node.look();
    node.note(segment);
    REQUIRE(segment->unfinished_used == 1);
    CHECK(segment->unfinished[0].bytes == 64 * MIB);
}

TEST_CASE_METHOD(Killed, "a thread that runs within its read, which has not returned, is in it still", "[unfinished]")
{
    Node node;
    node.has(1, 0, 0);
    node.look();
    node.is_in("running");
    node.look();
    node.note(segment);
    CHECK(segment->unfinished_used == 1);
}

TEST_CASE_METHOD(Killed, "a thread that waits for a page of a mapped file is in no call", "[unfinished]")
{
    Node node;
    node.has(1, 0, 0);
    node.is_in("-1 0x7ffe 0x7f01");
    for (unsigned look = 0; look < 3; look++)
        node.look();
    node.note(segment);
    CHECK(segment->unfinished_used == 0);
}

TEST_CASE_METHOD(Killed, "a copy in the kernel is half a read and half a write", "[unfinished]")
{
    Node node;
    node.has(1, 0, 0);
    node.is_in("326 0x5 0x0 0x5 0x0 0x4000000 0x0 0x7ffe 0x7f01"); /* copy_file_range */
#if defined(__x86_64__)
    for (unsigned look = 0; look < 3; look++)
        node.look();
    node.note(segment);
    REQUIRE(segment->unfinished_used == 2);
    CHECK(segment->unfinished[0].kind == KIND_read);
    CHECK(segment->unfinished[1].kind == KIND_write);
    CHECK(segment->unfinished[1].parts == 2);
#endif
}
