/* Closing, packing, draining. */
#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <fstream>

namespace fs = std::filesystem;

namespace {

record a_record(uint64_t slice, uint64_t bytes)
{
    record record;
    std::memset(&record, 0, sizeof record);
    record.slice = slice;
    record.mount = 1;
    record.counts.counter[COUNTER_write_bytes] = bytes;
    return record;
}

/* Counters that do not compress, so that frames fill up. */
record an_incompressible_record(uint64_t &state)
{
    static uint64_t slice = 0;
    record record = a_record(++slice, 0);
    auto next = [&state] { return state = state * 6364136223846793005u + 1442695040888963407u; };
    for (uint64_t &counter : record.counts.counter)
        counter = next();
    for (uint32_t &bin : record.counts.bin)
        bin = (uint32_t)(next() >> 32);
    record.counts.counter[COUNTER_write_bytes] = 1;
    return record;
}

Spool finish(Segment &segment)
{
    REQUIRE(segment_finish(&segment.home, ENDING_exit, 1, 0) == 0);
    return read_spool(segment.spool);
}

} // namespace

TEST_CASE_METHOD(OneSegment, "records add up over any number of batches, in frames numbered without gaps", "[record]")
{
    unsigned count = GENERATE(0u, 1u, (unsigned)RECORDS_MAX, RECORDS_MAX + 1u, 1000u);
    for (unsigned i = 0; i < count; i++) {
        record record = a_record(i, 1 + i);
        record_append(&segment.home, &record);
    }
    CHECK_FALSE(fs::exists(segment.spool)); /* nothing is written while the program runs */
    Spool spool = finish(segment);
    CHECK(spool.rows("slices").size() == count);
    CHECK(spool.sum("slices", "write_bytes") == (uint64_t)count * (count + 1) / 2);
    CHECK(spool.is_gapless());
    CHECK(spool.schema_frames == 1);
    CHECK(spool.frames.size() == (count == 0 ? 1 : (count - 1) / RECORDS_MAX + 1));
    for (size_t i = 0; i < spool.frames.size(); i++)
        CHECK(spool.frames[i].flags == (i + 1 == spool.frames.size() ? FORMAT_LAST_FRAME : 0));
}

TEST_CASE_METHOD(OneSegment, "the process and its mounts are packed once, with what was not known yet in the last frame", "[pack]")
{
    mount_start(&segment.home);
    REQUIRE(pack_records(&segment.home, false, 0) == 0);
    mount_enter(&segment.home, OBJECT_pipe, 0, 0, nullptr);
    segment_count_problem(segment.home.segment, PROBLEM_clock_stepped);
    segment.lane(0)->calls[OP_lseek] = 3;
    segment.lane(1)->calls[OP_lseek] = 4;
    REQUIRE(pack_records(&segment.home, false, 0) == 0);
    Spool spool = finish(segment);
    REQUIRE(spool.frames.size() == 3);
    CHECK(spool.frames[0].tables["processes"].size() == 1);
    CHECK(spool.frames[0].tables["mounts"].size() == 2);
    CHECK(spool.frames[1].tables["processes"].empty());
    CHECK(spool.frames[1].tables["mounts"].size() == 1);
    CHECK(spool.frames[2].tables["mounts"].empty());
    CHECK(spool.frames[2].tables["processes"][0]["ending"] == ENDING_exit);
    CHECK(spool.frames[2].tables["processes"][0].text["host"] == "node");
    REQUIRE(spool.rows("calls").size() == 1);
    CHECK(spool.rows("calls")[0]["operation"] == OP_lseek);
    CHECK(spool.rows("calls")[0]["calls"] == 7);
    CHECK(spool.sum("mishaps", "count") == 1);
}

TEST_CASE_METHOD(OneSegment, "a full segment is drained by the program, and says so", "[drain]")
{
    uint64_t state = 1;
    for (int i = 0; i < 600; i++) {
        record record = an_incompressible_record(state);
        record_append(&segment.home, &record);
    }
    CHECK(segment->problems[PROBLEM_segment_full] > 0);
    CHECK(fs::exists(segment.spool));
    Spool spool = finish(segment);
    CHECK(spool.sum("slices", "write_bytes") == 600);
    CHECK(spool.is_gapless());
    CHECK(spool.schema_frames == 1);
}

TEST_CASE_METHOD(OneSegment, "where the spool cannot be written counts stay, and are written when it can be", "[drain]")
{
    record record = a_record(1, 42);
    record_append(&segment.home, &record);
    int error = GENERATE(EACCES, EROFS, EDQUOT);
    fake_system.failing_syscall = SYS_openat;
    fake_system.error = error;
    CHECK(segment_finish(&segment.home, ENDING_exit, 1, 0) == -error);
    fake_system.failing_syscall = -1;
    CHECK(segment.commit().frame_bytes > 0);
    CHECK(finish(segment).sum("slices", "write_bytes") == 42);
    CHECK(segment.commit().frame_bytes == 0);
}

TEST_CASE_METHOD(OneSegment, "a disk that fills up in the middle of a frame costs nothing once there is room", "[drain]")
{
    record record = a_record(1, 42);
    record_append(&segment.home, &record);
    /* Torn within the schema, within the process's frame, and not begun at all; then again. */
    fake_system.is_disk_full = true;
    for (uint64_t room : { GENERATE(0u, 10u, 700u, 3000u), 60u }) {
        fake_system.disk_room = room;
        CHECK(segment_finish(&segment.home, ENDING_exit, 1, 0) == -ENOSPC);
    }
    fake_system.is_disk_full = false;
    Spool spool = finish(segment);
    CHECK(spool.sum("slices", "write_bytes") == 42);
    CHECK(spool.schema_frames >= 1);
    CHECK(spool.is_gapless());
}

TEST_CASE_METHOD(OneSegment, "records that fit nowhere are dropped, and counted as that", "[record]")
{
    fake_system.failing_syscall = SYS_openat;
    fake_system.error = EACCES;
    uint64_t state = 1, kept = 0;
    for (int i = 0; i < 600; i++) {
        record record = an_incompressible_record(state);
        record_append(&segment.home, &record);
    }
    fake_system.failing_syscall = -1;
    Spool spool = finish(segment);
    kept = spool.sum("slices", "write_bytes");
    CHECK(kept > 0);
    CHECK(kept < 600);
    bool is_told = false;
    for (const Row &row : spool.rows("mishaps"))
        is_told = is_told || (row["mishap"] == PROBLEM_records_dropped && row["count"] > 0);
    CHECK(is_told);
    CHECK(spool.is_gapless());
}

TEST_CASE("several processes share a file, and each frame is its own", "[drain]")
{
    Sandbox sandbox;
    for (uint64_t process = 1; process <= 5; process++) {
        Segment segment(sandbox);
        segment->process = process;
        record record = a_record(1, process);
        record_append(&segment.home, &record);
        finish(segment);
    }
    Spool spool = read_spool(sandbox.path("spool/node.swz"));
    CHECK(spool.frames.size() == 5);
    CHECK(spool.schema_frames == 1);
    CHECK(spool.sum("slices", "write_bytes") == 15);
}

TEST_CASE_METHOD(OneSegment, "only a regular file is a spool", "[drain]")
{
    fs::create_directory(sandbox.path("spool"));
    SECTION("a link") { fs::create_symlink(sandbox.write("elsewhere", ""), segment.spool); }
    SECTION("a pipe with a reader")
    {
        REQUIRE(mkfifo(segment.spool.c_str(), 0600) == 0);
        int reader = open(segment.spool.c_str(), O_RDONLY | O_NONBLOCK);
        CHECK(segment_finish(&segment.home, ENDING_exit, 1, 0) == -EINVAL);
        close(reader);
    }
    SECTION("a directory") { fs::create_directory(segment.spool); }
    CHECK(segment_finish(&segment.home, ENDING_exit, 1, 0) < 0);
    CHECK((!fs::exists(sandbox.path("elsewhere")) || fs::file_size(sandbox.path("elsewhere")) == 0));
}

TEST_CASE_METHOD(OneSegment, "a stream's sums go to its file's row, and nowhere if it could have none", "[record]")
{
    REQUIRE(segment_reserve(&segment.home, &segment->files, sizeof segment->files) == 0);
    segment->files_used = 4;
    struct lane *lane = segment.lane(0);
    for (uint32_t file : { 0u, 3u, 3u, (uint32_t)FILES_MAX, (uint32_t)FILE_NONE }) {
        stream stream;
        std::memset((void *)&stream, 0, sizeof stream);
        stream.descriptor = 1;
        stream.file = file;
        stream.id = 77;
        stream.counter[FILE_SUM(files_write_bytes)] = 10;
        stream_settle(&segment.home, lane, &stream);
        CHECK(stream.descriptor == 0);
    }
    CHECK(segment->files.file[3].row[files_write_bytes] == 20);
    CHECK(lane->other_files[FILE_SUM(files_write_bytes)] == 20);
}
