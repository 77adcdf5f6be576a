/* Regions that a program marks: what each is given, when they end, and death in the midst of it. */
#include "catch.h"
#include "sandbox.h"
#include "stepper.h"

extern "C" {
#include "communication.h"
#include "region.h"
#include "regions.h"
}

#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

constexpr uint64_t SLICE_NS = 1000000000, TENTH = SLICE_NS / 10;

struct Marking {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    ~Marking() { close(fd); }

    void write(uint64_t bytes, uint64_t ns)
    {
        engine.pass(ns);
        struct call call = engine.call(OP_pwrite, ns);
        call_wrote(&call, fd, 0, (int64_t)bytes);
    }
    void communicate(uint64_t ns)
    {
        engine.pass(ns);
        struct call call = engine.call(OP_MPI_Wait, ns);
        communication_count(MPI_CLASS_wait, call.start_tick, call.end_tick, 0);
    }
};

/* The rows of a name, by occurrence. */
std::vector<Row> of(const Spool &spool, const std::string &name)
{
    std::vector<Row> found;
    for (const Row &row : spool.rows("regions"))
        if (row.text.at("name") == name)
            found.push_back(row);
    return found;
}

uint64_t ignored(const Spool &spool)
{
    for (const Row &row : spool.rows("mishaps"))
        if (row["mishap"] == PROBLEM_region_ends_ignored)
            return row["count"];
    return 0;
}

constexpr size_t WATCHED_BYTES = SEGMENT_FIXED_BYTES + LANE_BYTES;

/* A region on a lane whose open slice has 8 bytes written within it, and 4 before. */
region *begun(Segment &segment)
{
    lane *lane = segment.lane(0);
    lane->slice = 1000;
    lane->cells[0].mount = 1;
    lane->cells[0].layer = LAYER_posix;
    lane->cells[0].counts.counter[COUNTER_write_bytes] = 4 + 8;
    lane->cells_used = 1;
    segment->mounts_used = 2;
    segment->mounts[1][mounts_object] = OBJECT_file;
    regions *regions = &segment->regions;
    if (segment_reserve(&segment.home, regions, sizeof *regions) != 0)
        throw std::runtime_error("no memory for regions");
    segment->has_regions = 1;
    regions->names_used = regions->used = 1;
    regions->has_closed[0] = 1;
    region *region = &regions->open[0];
    region->token = (uint64_t)1 << 32 | 1;
    region->begun[REGION_SUM(regions_write_bytes)] = 4;
    std::strcpy(region->name, "checkpoint");
    return region;
}

} // namespace

TEST_CASE_METHOD(Marking, "a region has what its thread did between its begin and its end", "[regions]")
{
    write(1, TENTH);
    uint64_t epoch = slicewise_region_begin("epoch");
    write(10, TENTH);
    uint64_t checkpoint = slicewise_region_begin("checkpoint");
    write(100, 3 * SLICE_NS); /* over slices */
    communicate(2 * SLICE_NS);
    slicewise_region_end(checkpoint);
    write(1000, TENTH);
    slicewise_region_end(epoch);
    write(10000, TENTH);
    Spool spool = engine.finish();
    Row inner = of(spool, "checkpoint").at(0), outer = of(spool, "epoch").at(0);
    CHECK(inner["write_bytes"] == 100);
    CHECK(inner["calls"] == 1);
    CHECK(inner["io_ns"] == 3 * SLICE_NS);
    CHECK(inner["mpi_ns"] == 2 * SLICE_NS);
    CHECK(inner["ns"] == 5 * SLICE_NS);
    CHECK(inner["end_ns"] - inner["begin_ns"] == 5 * SLICE_NS);
    CHECK(outer["begin_ns"] == 1000 * SLICE_NS + TENTH);
    CHECK(outer["write_bytes"] == 1110);
    CHECK(outer["calls"] == 3);
    CHECK(outer["ns"] == 5 * SLICE_NS + 2 * TENTH);
    CHECK(outer["left"] == 0);
}

TEST_CASE_METHOD(Marking, "the end of a region ends those within it, and no others", "[regions]")
{
    uint64_t outermost = slicewise_region_begin("outermost"), outer = slicewise_region_begin("outer");
    uint64_t inner = slicewise_region_begin("inner"), another = 0;
    std::thread([&] {
        another = slicewise_region_begin("another");
        slicewise_region_end(outer); /* of this thread it is none */
        write(5, TENTH);
        lane_release(&thread_state);
    }).join();
    write(7, TENTH);
    slicewise_region_end(outer);
    slicewise_region_end(inner);                              /* has ended already */
    slicewise_region_end(outermost ^ (uint64_t)1 << 40);      /* another process's */
    slicewise_region_end(slicewise_region_begin(nullptr));    /* none was begun */
    Spool spool = engine.finish();
    CHECK(another != 0);
    CHECK(of(spool, "inner").at(0)["left"] == 1);
    CHECK(of(spool, "outer").at(0)["left"] == 0);
    CHECK(of(spool, "outer").at(0)["write_bytes"] == 7);
    CHECK(of(spool, "outermost").at(0)["left"] == 1); /* with the process */
    CHECK(of(spool, "outermost").at(0)["write_bytes"] == 7);
    CHECK(of(spool, "another").at(0)["write_bytes"] == 5);
    CHECK(ignored(spool) == 3);
}

TEST_CASE_METHOD(Marking, "a thread's end ends its regions", "[regions]")
{
    std::thread([&] {
        slicewise_region_begin("outer");
        slicewise_region_begin("inner");
        write(5, TENTH);
        regions_thread_ends(&thread_state);
        lane_release(&thread_state);
    }).join();
    engine.pass(SLICE_NS);
    std::thread([&] {
        uint64_t region = slicewise_region_begin("on the same lane");
        write(6, TENTH);
        slicewise_region_end(region);
        lane_release(&thread_state);
    }).join();
    Spool spool = engine.finish();
    CHECK(of(spool, "outer").at(0)["ns"] == TENTH);
    CHECK(of(spool, "inner").at(0)["write_bytes"] == 5);
    CHECK(of(spool, "inner").at(0)["left"] == 1);
    CHECK(of(spool, "on the same lane").at(0)["write_bytes"] == 6);
}

TEST_CASE_METHOD(Marking, "after so many of a name, or so many names, one row has the rest", "[regions]")
{
    constexpr unsigned MORE = 500, NAMES = 200;
    for (unsigned i = 0; i < REGION_OCCURRENCES_MAX + MORE; i++) {
        uint64_t batch = slicewise_region_begin("batch");
        write(1, i == REGION_OCCURRENCES_MAX + 1 ? 20 : 10);
        slicewise_region_end(batch);
    }
    for (unsigned i = 0; i < NAMES; i++)
        slicewise_region_end(slicewise_region_begin(("step " + std::to_string(i)).c_str()));
    Spool spool = engine.finish();
    auto rows = of(spool, "batch");
    REQUIRE(rows.size() == REGION_OCCURRENCES_MAX + 1);
    std::set<uint64_t> occurrences;
    uint64_t bytes = 0;
    for (const Row &row : rows) {
        occurrences.insert(row["occurrence"]);
        bytes += row["write_bytes"];
        if (row["occurrence"] == 0) {
            CHECK(row["occurrences"] == MORE);
            CHECK(row["ns"] == MORE * 10 + 10);
            CHECK(row["slowest_ns"] == 20);
            CHECK(row["end_ns"] - row["begin_ns"] >= row["ns"]);
        }
    }
    CHECK(*occurrences.rbegin() == REGION_OCCURRENCES_MAX);
    CHECK(occurrences.size() == rows.size());
    CHECK(bytes == REGION_OCCURRENCES_MAX + MORE);
    CHECK(of(spool, "").at(0)["occurrences"] == NAMES + 1 + 1 - REGION_NAMES_MAX);
}

TEST_CASE_METHOD(Marking, "more than there is room for at one time are not begun, and a long name is cut", "[regions]")
{
    std::string name(100, 'x');
    slicewise_region_begin(name.c_str());
    unsigned begun = 1;
    while (slicewise_region_begin("x") != 0)
        begun++;
    Spool spool = engine.finish();
    CHECK(begun == REGIONS_MAX);
    CHECK(of(spool, name.substr(0, REGION_NAME_BYTES - 1)).size() == 1);
    CHECK(of(spool, "x").size() == REGIONS_MAX - 1);
}

TEST_CASE_METHOD(Marking, "a level of MPI_Pcontrol is a region once its end shows that it is one", "[regions]")
{
    for (int i = 0; i < 100; i++)
        regions_mark_level(1, ("garbage " + std::to_string(i)).c_str()); /* it turns profiling on */
    uint64_t around = slicewise_region_begin("around");
    regions_mark_level(3, "");
    regions_mark_level(1, "solve");
    regions_mark_level(1, "setup");
    write(1, TENTH);
    regions_mark_level(-1, "setup");
    write(2, TENTH);
    regions_mark_level(-1, "solve");
    regions_mark_level(-3, "");
    slicewise_region_end(around);
    regions_mark_level(-5, "");
    Spool spool = engine.finish();
    CHECK(spool.rows("regions").size() == 4);
    CHECK(of(spool, "setup").at(0)["write_bytes"] == 1);
    CHECK(of(spool, "solve").at(0)["write_bytes"] == 3);
    CHECK(of(spool, "MPI_Pcontrol 3").at(0)["write_bytes"] == 3);
    CHECK(of(spool, "around").at(0)["write_bytes"] == 3);
    CHECK(ignored(spool) == 1);
}

TEST_CASE_METHOD(OneSegment, "death at any moment of a region's end or a slice's turn counts the region once", "[regions][crash]")
{
    region *region = begun(segment);
    bool is_of_many = GENERATE(false, true);
    if (is_of_many) {
        uint64_t text = segment_add_text(&segment.home, region->name);
        segment->regions.names[1].sums[0].row[regions_name] = segment->regions.names[1].sums[1].row[regions_name] = text;
        segment->regions.names[1].seen = REGION_OCCURRENCES_MAX;
        segment->regions.names_used = 2;
    }
    std::function<void()> run;
    SECTION("it ends")
    {
        run = [&] { region_end(&segment.home, region, 1, false); };
    }
    SECTION("the slice turns first")
    {
        run = [&] {
            lane_close(&segment.home, 0, true);
            region_end(&segment.home, region, 1, false);
            pack_records(&segment.home, false, 0);
        };
    }
    int moments = step_through({ segment.home.segment, WATCHED_BYTES }, run, [&] {
        std::map<uint64_t, Row> rows; /* a later one of a number replaces the earlier one */
        for (const Row &row : finish_a_copy(sandbox, segment, WATCHED_BYTES).rows("regions"))
            rows[row["number"]] = row;
        REQUIRE(rows.size() == 1);
        REQUIRE(rows.begin()->second["occurrences"] == 1);
        REQUIRE(rows.begin()->second["write_bytes"] == 8);
    });
    if (moments != -1)
        CHECK(moments > 10);
}
