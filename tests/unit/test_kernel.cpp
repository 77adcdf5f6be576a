/* The kernel's own count, beside ours. */
#include "catch.h"
#include "sandbox.h"

namespace {

struct Counts {
    uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

struct Kernel {
    Sandbox sandbox;
    std::string path = sandbox.path("io");
    Segment segment{ sandbox };

    Kernel()
    {
        own_io = (struct own_io){ 0, 0, 0, 0 };
        fake_system.self_io = path.c_str();
    }
    /* What the kernel says; what reading it costs is the profiler's own, and comes on top. */
    void says(Counts counts)
    {
        sandbox.write("io", "rchar: " + std::to_string(counts.rchar + own_io.read_bytes) + "\nwchar: " + std::to_string(counts.wchar) +
                                "\nsyscr: " + std::to_string(counts.syscr + own_io.reads) + "\nsyscw: " + std::to_string(counts.syscw) +
                                "\nread_bytes: " + std::to_string(counts.read_bytes) + "\nwrite_bytes: " + std::to_string(counts.write_bytes) +
                                "\ncancelled_write_bytes: 0\n");
    }
};

} // namespace

TEST_CASE("what came since the last sample is a record of the slice", "[kernel]")
{
    Kernel kernel;
    kernel.says({ 100, 200, 3, 4, 4096, 8192 });
    kernel_start(&kernel.segment.home, false, 0);
    kernel.says({ 1100, 2200, 13, 24, 4096, 16384 });
    kernel_sample(&kernel.segment.home, 7);
    kernel_sample(&kernel.segment.home, 8); /* nothing since */
    REQUIRE(kernel.segment.commit().records == 1);
    const record &record = *segment_record(kernel.segment.home.segment, 0);
    CHECK(record.slice == 7);
    CHECK(record.mount == MOUNT_PROCESS);
    CHECK(record.layer == LAYER_kernel);
    CHECK(record.counts.counter[COUNTER_read_bytes] == 1000);
    CHECK(record.counts.counter[COUNTER_write_bytes] == 2000);
    CHECK(record.counts.counter[COUNTER_read_ops] == 10);
    CHECK(record.counts.counter[COUNTER_write_ops] == 20);
    CHECK(record.counts.counter[COUNTER_kernel_read_bytes] == 0);
    CHECK(record.counts.counter[COUNTER_kernel_write_bytes] == 8192);
}

TEST_CASE("what the profiler wrote itself is left out", "[kernel]")
{
    Kernel kernel;
    kernel.says({ 0, 0, 0, 0, 0, 0 });
    kernel_start(&kernel.segment.home, false, 0);
    own_io.write_bytes += 500;
    own_io.writes += 1;
    kernel.says({ 0, 600, 0, 2, 0, 0 });
    kernel_sample(&kernel.segment.home, 7);
    CHECK(segment_record(kernel.segment.home.segment, 0)->counts.counter[COUNTER_write_bytes] == 100);
    CHECK(segment_record(kernel.segment.home.segment, 0)->counts.counter[COUNTER_write_ops] == 1);
}

TEST_CASE("a kernel that does not count is told once, and not asked again", "[kernel]")
{
    Kernel kernel; /* there is no such file */
    kernel_start(&kernel.segment.home, false, 0);
    kernel_sample(&kernel.segment.home, 7);
    CHECK(kernel.segment->problems[PROBLEM_no_kernel_count] == 1);
    kernel.sandbox.write("io", "rchar: 1\nnonsense");
    kernel_sample(&kernel.segment.home, 8);
    CHECK(kernel.segment->problems[PROBLEM_no_kernel_count] == 1);
    CHECK(kernel.segment.commit().records == 0);
}
