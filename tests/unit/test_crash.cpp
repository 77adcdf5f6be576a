/* The crash protocol: whenever a process dies while it closes, packs or drains, whoever finishes its segment loses no record and doubles
 * none. */
#include "catch.h"
#include "sandbox.h"
#include "stepper.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

namespace fs = std::filesystem;

namespace {

constexpr size_t WATCHED_BYTES = SEGMENT_FIXED_BYTES + 4 * LANE_BYTES;

/* A lane with `cells` cells whose write_bytes are distinct powers of two, from 1 << `first_bit` on: a sum tells what is in it. */
void fill(lane *lane, unsigned cells, unsigned first_bit)
{
    lane->slice = 1000 + first_bit;
    for (unsigned i = 0; i < cells; i++) {
        lane->cells[i].mount = 1 + i;
        lane->cells[i].layer = LAYER_posix;
        lane->cells[i].counts.counter[COUNTER_write_bytes] = 1ull << (first_bit + i);
        lane->cell_of[LAYER_posix][1 + i] = CELL_UNIT_OF(lane, &lane->cells[i]);
    }
    lane->cells_used = cells;
}

uint64_t written(const Spool &spool)
{
    return spool.sum("slices", "write_bytes");
}

bool is_last_flagged(const Spool &spool)
{
    return std::any_of(spool.frames.begin(), spool.frames.end(), [](const Frame &frame) { return (frame.flags & FORMAT_LAST_FRAME) != 0; });
}

} // namespace

TEST_CASE_METHOD(OneSegment, "death at any moment of closing, packing, draining and finishing loses and doubles nothing", "[crash]")
{
    fill(segment.lane(0), 2, 0);
    fill(segment.lane(1), 3, 2);
    fill(segment.lane(2), 1, 5);
    const uint64_t all = (1 << 6) - 1;
    std::function<void()> run;
    SECTION("one lane, and then all")
    {
        run = [&] {
            lane_close(&segment.home, 1, true);
            segment_finish(&segment.home, ENDING_exit, 1, 0);
        };
    }
    SECTION("a batch that has to be packed to make room")
    {
        union commit commit = {};
        commit.records = RECORDS_MAX - 1;
        std::memset(segment->records, 0, sizeof segment->records);
        segment->commit = commit.word;
        run = [&] { lane_close(&segment.home, 2, true); lane_close(&segment.home, 1, true); };
    }
    SECTION("a drain while the program runs")
    {
        run = [&] {
            lane_close(&segment.home, 0, true);
            pack_records(&segment.home, false, 0);
            drain_frames(&segment.home);
            lane_close(&segment.home, 2, true);
        };
    }
    std::set<uint64_t> sums;
    int moments = step_through({ segment.home.segment, WATCHED_BYTES }, run, [&] {
        Spool spool = finish_a_copy(sandbox, segment, WATCHED_BYTES);
        sums.insert(written(spool));
        REQUIRE(sums == std::set<uint64_t>{ all });
        REQUIRE(is_last_flagged(spool));
    });
    if (moments != -1)
        CHECK(moments > 10);
}

TEST_CASE_METHOD(OneSegment, "a record that is added is there as a whole, or not at all", "[crash]")
{
    record record;
    std::memset(&record, 0xff, sizeof record);
    record.slice = 1000;
    record.mount = record.layer = 1;
    record.counts.counter[COUNTER_write_bytes] = 8;
    record.counts.counter[COUNTER_write_ops] = 1;
    uint64_t last = 0;
    step_through({ segment.home.segment, WATCHED_BYTES }, [&] { record_append(&segment.home, &record); record_append(&segment.home, &record); },
                 [&] {
                     Spool spool = finish_a_copy(sandbox, segment, WATCHED_BYTES);
                     REQUIRE(written(spool) == 8 * spool.sum("slices", "write_ops"));
                     REQUIRE(written(spool) >= last);
                     last = written(spool);
                 });
    CHECK(written(finish_a_copy(sandbox, segment, WATCHED_BYTES)) == 16);
}

TEST_CASE_METHOD(OneSegment, "death while rows of files are given up loses and doubles nothing of the files' sums", "[crash]")
{
    uint64_t all = 0, opens = 0;
    auto enter = [&](uint32_t file) {
        stream stream;
        std::memset((void *)&stream, 0, sizeof stream);
        stream.id = file * 0x9e3779b97f4a7c15u | 1;
        files_enter(&segment.home, &stream, 2, ("/scratch/file" + std::to_string(file)).c_str());
        return stream;
    };
    for (uint32_t file = 1; file < FILES_MAX; file++) {
        stream stream = enter(file);
        REQUIRE(stream.file != 0);
        stream.counter[FILE_SUM(files_opens)] = 1;
        stream.counter[FILE_SUM(files_write_bytes)] = file;
        all += file;
        opens++;
        files_add(&segment.home, segment.lane(0), &stream);
    }
    Watched watched = { &segment.home.segment->files.version, sizeof(files) - offsetof(files, version) };
    unsigned moment = 0, looked = 0;
    int moments = step_through(watched, [&] { enter(FILES_MAX); }, [&] {
        if (moment++ % 61 != 0)
            return;
        looked++;
        Spool spool = finish_a_copy(sandbox, segment, WATCHED_BYTES);
        REQUIRE(spool.sum("files", "write_bytes") == all);
        REQUIRE(spool.sum("files", "opens") == opens);
    });
    if (moments >= 0) {
        CHECK(moments > 1000);
        CHECK(looked > 20);
    }
}

TEST_CASE_METHOD(OneSegment, "whoever finishes a segment may die too", "[crash]")
{
    fill(segment.lane(0), 2, 0);
    fill(segment.lane(1), 3, 2);
    fill(segment.lane(2), 1, 5);
    /* The first to die had closed lane 1, and not emptied it. */
    std::vector<unsigned char> before((unsigned char *)segment.lane(1), (unsigned char *)segment.lane(1) + LANE_BYTES);
    lane_close(&segment.home, 1, true);
    std::memcpy((void *)segment.lane(1), before.data(), LANE_BYTES);
    bool is_removed = false;
    step_through_system_calls([&] { adopt_segment(segment.home.path, ""); }, [&] {
        is_removed = !fs::exists(segment.home.path);
        REQUIRE(written(is_removed ? read_spool(segment.spool) : finish_a_copy(sandbox, segment, WATCHED_BYTES)) == (1 << 6) - 1);
    });
    CHECK((is_removed || fs::exists(segment.home.path)));
}
