/* Samples of a node: whenever the collector dies, whoever finishes its segment writes each sample once, and few frames. */
#include "catch.h"
#include "sandbox.h"
#include "stepper.h"

#include <cstring>
#include <fstream>

extern "C" {
#include "samples.h"
}

namespace fs = std::filesystem;

namespace {

struct Node {
    Sandbox sandbox;
    Segment segment{ sandbox };

    Node() { segment->is_of_node = segment->is_last_packed = 1; }

    /* One whose TCP segments are 1 << `number`: a sum tells which samples there are. */
    static const sample &made(unsigned number, unsigned disks = 1)
    {
        static struct sample sample;
        uint64_t run[NODE_COLUMNS] = {}, slice[NODE_SLICE_COLUMNS] = {};
        run[nodes_end_ns] = number;
        slice[node_slices_slice] = 1000 + number;
        slice[node_slices_tcp_sent_segments] = 1ull << (number % 64);
        sample_begin(&sample);
        sample_add(&sample, TABLE_nodes, run, 1);
        sample_add(&sample, TABLE_node_slices, slice, 1);
        std::vector<uint64_t> rows(disks * NODE_BLOCK_COLUMNS);
        for (unsigned disk = 0; disk < disks; disk++) {
            rows[disk * NODE_BLOCK_COLUMNS + node_blocks_slice] = 1000 + number;
            rows[disk * NODE_BLOCK_COLUMNS + node_blocks_device] = disk;
            rows[disk * NODE_BLOCK_COLUMNS + node_blocks_read_ops] = 1;
        }
        sample_add(&sample, TABLE_node_blocks, rows.data(), disks);
        return sample;
    }

    Spool finish_a_copy()
    {
        return ::finish_a_copy(sandbox, segment, SEGMENT_FIXED_BYTES);
    }
};

} // namespace

TEST_CASE("samples become one frame, in which the collector's own row is there once", "[samples]")
{
    Node node;
    for (unsigned i = 0; i < 20; i++)
        REQUIRE(samples_append(&node.segment.home, &Node::made(i, 3)) == 0);
    CHECK(samples_kept(node.segment.home.segment) == 20);
    CHECK(segment_finish(&node.segment.home, ENDING_exit, 1, 0) == 0);
    Spool spool = read_spool(node.segment.spool);
    REQUIRE(spool.frames.size() == 1);
    CHECK((spool.frames[0].flags & FORMAT_LAST_FRAME) != 0);
    REQUIRE(spool.rows("nodes").size() == 1);
    CHECK(spool.rows("nodes")[0]["end_ns"] == 19);
    CHECK(spool.rows("node_slices").size() == 20);
    CHECK(spool.sum("node_slices", "tcp_sent_segments") == (1 << 20) - 1);
    CHECK(spool.sum("node_blocks", "read_ops") == 60);
    CHECK(spool.rows("processes").empty());
    CHECK(samples_pack(&node.segment.home, 0) == 0); /* there is nothing left */
    CHECK(samples_kept(node.segment.home.segment) == 0);
}

TEST_CASE("what there is no room for begins the next frame", "[samples]")
{
    Node node;
    unsigned disks = GENERATE(0u, 1u, 100u, 256u);
    for (unsigned i = 0; i < 300; i++)
        REQUIRE(samples_append(&node.segment.home, &Node::made(i, disks)) == 0);
    CHECK(segment_finish(&node.segment.home, ENDING_exit, 1, 0) == 0);
    Spool spool = read_spool(node.segment.spool);
    CHECK(spool.is_gapless());
    CHECK(spool.frames.size() <= (disks <= 1 ? 4 : 300));
    CHECK(spool.rows("node_slices").size() == 300);
    CHECK(spool.sum("node_blocks", "read_ops") == 300 * disks);
}

TEST_CASE("death at any moment of sampling, packing and draining loses and doubles no sample", "[samples][crash]")
{
    Node node;
    uint64_t last = 0;
    int moments = step_through({ node.segment.home.segment, SEGMENT_FIXED_BYTES }, [&] {
        for (unsigned i = 0; i < 6; i++) {
            samples_append(&node.segment.home, &Node::made(i));
            if (i == 1 || i == 3)
                samples_pack(&node.segment.home, 0);
            if (i == 3)
                drain_frames(&node.segment.home);
        }
    }, [&] {
        Spool spool = node.finish_a_copy();
        REQUIRE(spool.is_gapless());
        uint64_t sum = spool.sum("node_slices", "tcp_sent_segments");
        REQUIRE((sum == last || sum == 2 * last + 1)); /* the samples so far, or one more */
        REQUIRE(spool.rows("node_slices").size() == spool.sum("node_blocks", "read_ops"));
        last = sum;
    });
    if (moments != -1)
        CHECK(last == (1 << 6) - 1);
}

TEST_CASE("whoever finishes a collector's segment may die too", "[samples][crash]")
{
    Node node;
    for (unsigned i = 0; i < 5; i++)
        REQUIRE(samples_append(&node.segment.home, &Node::made(i)) == 0);
    step_through_system_calls([&] { adopt_segment(node.segment.home.path, ""); }, [&] {
        Spool spool = fs::exists(node.segment.home.path) ? node.finish_a_copy() : read_spool(node.segment.spool);
        REQUIRE(spool.sum("node_slices", "tcp_sent_segments") == (1 << 5) - 1);
    });
}

TEST_CASE("samples that are not whole harm nobody", "[samples][fuzz]")
{
    Node node;
    for (unsigned i = 0; i < 5; i++)
        REQUIRE(samples_append(&node.segment.home, &Node::made(i)) == 0);
    auto *words = reinterpret_cast<uint64_t *>(node.segment->records);
    size_t used = words[0] * 5;
    uint64_t hostile = GENERATE(0ull, 1ull, ~0ull, 1ull << 63, (uint64_t)TABLE_node_blocks << 32 | 0xffffffff, (uint64_t)TABLES << 32 | 1);
    for (size_t at = 0; at < used; at++) {
        uint64_t kept = words[at];
        words[at] = hostile;
        Spool spool = node.finish_a_copy();
        REQUIRE(spool.is_gapless());
        words[at] = kept;
    }
    union commit commit = node.segment.commit();
    commit.records = RECORDS_MAX;
    node.segment->commit = commit.word;
    CHECK(node.finish_a_copy().is_gapless());
}
