/* What accelerators did: by slice and kind, also in slices that are long closed. */
#include "catch.h"
#include "sandbox.h"

extern "C" {
#include "accelerated.h"
#include "communication.h"
}

#include <map>
#include <utility>
#include <vector>

namespace {

constexpr uint64_t SLICE_NS = 1000000000, BEGIN_NS = 1000 * SLICE_NS;

struct Counting {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };
};

std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> rows_of(const Spool &spool)
{
    std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> found;
    for (const Row &row : spool.rows("accelerated")) {
        std::vector<uint64_t> &sums = found[{ row["slice"], row["kind"] }];
        sums.resize(3);
        sums[0] += row["times"], sums[1] += row["ns"], sums[2] += row["bytes"];
    }
    return found;
}

} // namespace

TEST_CASE_METHOD(Counting, "work of accelerators is cut at the ends of slices, and its bytes add up", "[accelerated]")
{
    engine.pass(9 * SLICE_NS);
    const accelerated_work work[] = {
        { ACCELERATED_kernel, BEGIN_NS + SLICE_NS / 2, BEGIN_NS + 3 * SLICE_NS, 0 }, /* ends where a slice begins */
        { ACCELERATED_to_device, BEGIN_NS + SLICE_NS / 4, BEGIN_NS + SLICE_NS + SLICE_NS / 2, 7 },
        { ACCELERATED_kernel, BEGIN_NS + 10, BEGIN_NS + 10, 0 },
        { ACCELERATED_fill, BEGIN_NS + 8 * SLICE_NS, BEGIN_NS + 8 * SLICE_NS + 5, 3 },
    };
    slicewise_accelerated(work, 4);
    slicewise_accelerated(work + 1, 1);
    Spool spool = engine.finish();
    CHECK(rows_of(spool) == std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>>{
                                { { 1000, ACCELERATED_kernel }, { 1, SLICE_NS / 2, 0 } },
                                { { 1001, ACCELERATED_kernel }, { 0, SLICE_NS, 0 } },
                                { { 1002, ACCELERATED_kernel }, { 0, SLICE_NS, 0 } },
                                { { 1003, ACCELERATED_kernel }, { 1, 0, 0 } },
                                { { 1000, ACCELERATED_to_device }, { 0, 2 * (SLICE_NS * 3 / 4), 2 * 4 } },
                                { { 1001, ACCELERATED_to_device }, { 2, SLICE_NS, 2 * 3 } },
                                { { 1008, ACCELERATED_fill }, { 1, 5, 3 } } });
    CHECK(spool.rows("slices").empty());
}

TEST_CASE_METHOD(Counting, "more slices than are at hand lose nothing", "[accelerated]")
{
    engine.pass(200 * SLICE_NS);
    for (unsigned round = 0; round < 3; round++) {
        std::vector<accelerated_work> work;
        for (uint64_t slice = 0; slice < 150; slice++)
            work.push_back({ ACCELERATED_kernel, BEGIN_NS + slice * SLICE_NS + 5, BEGIN_NS + slice * SLICE_NS + 7, 1 });
        slicewise_accelerated(work.data(), (unsigned)work.size());
    }
    Spool spool = engine.finish();
    CHECK(spool.is_gapless());
    CHECK(rows_of(spool).size() == 150);
    CHECK(spool.sum("accelerated", "times") == 450);
    CHECK(spool.sum("accelerated", "ns") == 900);
}

TEST_CASE_METHOD(Counting, "work that cannot have been is a problem, and counts as nothing", "[accelerated]")
{
    engine.pass(SLICE_NS);
    const accelerated_work work[] = {
        { ACCELERATED_KINDS, BEGIN_NS, BEGIN_NS + 1, 0 },
        { ACCELERATED_kernel, 0, BEGIN_NS, 0 },
        { ACCELERATED_kernel, BEGIN_NS + 1, BEGIN_NS, 0 },
        { ACCELERATED_kernel, BEGIN_NS, BEGIN_NS + 900 * SLICE_NS, 0 },
    };
    slicewise_accelerated(work, 4);
    slicewise_accelerators_failed(3);
    slicewise_accelerators_failed(0);
    CHECK(::engine.home.segment->problems[PROBLEM_accelerated_dropped] == 7);
    CHECK(::engine.home.segment->problems[PROBLEM_accelerators_unseen] == 1);
    CHECK(engine.finish().rows("accelerated").empty());
}

TEST_CASE_METHOD(Counting, "within a wait for an accelerator its library's own waits do not begin", "[accelerated]")
{
    uint64_t begun = slicewise_accelerator_wait_begin();
    CHECK(slicewise_thread_wait_begin() == 0);
    engine.pass(3000);
    slicewise_thread_wait_end(THREAD_WAIT_accelerator, begun);
    CHECK(slicewise_thread_wait_begin() != 0);
    Spool spool = engine.finish();
    CHECK(spool.sum("thread_waits", "ns") == 3000);
    CHECK(spool.sum("thread_waits", "waits") == 1);
}
