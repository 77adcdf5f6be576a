/* Looking on: what is printed is what a segment holds, and a hostile one costs nobody but itself. */
#include "catch.h"
#include "sandbox.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sys/wait.h>
#include <vector>

extern "C" {
#include "live.h"
}

namespace {

/* What `live` prints of the sandbox's segments after each of so many changes, in one process of its own: a fork under sanitizers is dear. */
std::vector<std::string> looks(const Sandbox &sandbox, unsigned changes, const std::function<void(unsigned)> &change)
{
    auto output = [&](unsigned number) { return sandbox.path("output") + std::to_string(number); };
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        setenv("SLICEWISE_SEGMENT_DIR", sandbox.path().c_str(), 1);
        setenv("TMPDIR", sandbox.path("none").c_str(), 1);
        for (unsigned number = 0; number < changes; number++) {
            change(number);
            if (freopen(output(number).c_str(), "w", stdout) == nullptr || live(0, false) != 0 || fflush(stdout) != 0)
                _exit(99);
        }
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    unsigned last = 0;
    while (last < changes && std::filesystem::exists(output(last)))
        last++;
    CAPTURE(last); /* the change that it did not survive is this one, or the one before */
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    std::vector<std::string> printed;
    for (unsigned number = 0; number < changes; number++) {
        std::ifstream file(output(number));
        printed.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return printed;
}

std::string look(const Sandbox &sandbox)
{
    return looks(sandbox, 1, [](unsigned) {})[0];
}

bool holds(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(OneSegment, "closed slices and the open one are added up, by mount", "[live]")
{
    segment->pid = (uint32_t)getppid();
    mount_start(&segment.home);
    record record;
    std::memset(&record, 0, sizeof record);
    record.mount = 1;
    record.counts.counter[COUNTER_write_bytes] = 100;
    record.counts.counter[COUNTER_write_ops] = 2;
    record_append(&segment.home, &record);
    record.layer = LAYER_mpiio; /* the same bytes once more, a layer above */
    record_append(&segment.home, &record);
    record.layer = LAYER_kernel;
    record.mount = 0;
    record_append(&segment.home, &record);
    lane *lane = segment.lane(0);
    lane->cells[0].mount = 1;
    lane->cells[0].layer = LAYER_posix;
    lane->cells[0].counts.counter[COUNTER_write_bytes] = 11;
    lane->cells[0].counts.counter[COUNTER_write_ops] = 1;
    lane->cells_used = 1;
    std::string open = look(sandbox);
    CHECK(holds(open, "\"write_ops\": 3"));
    CHECK(holds(open, "\"write_bytes\": 111"));
    CHECK(holds(open, "\"kernel_write_bytes\": 100"));
    CHECK(holds(open, "\"closed_write_bytes\": 100"));
    lane_close(&segment.home, 0, true);
    std::string closed = look(sandbox);
    CHECK(holds(closed, "\"write_bytes\": 111"));
    CHECK(holds(closed, "\"closed_write_bytes\": 111"));
    CHECK(segment->totals_turn % 2 == 0);
    segment->totals_turn++; /* killed, or still at it: no number is better than a wrong one */
    CHECK_FALSE(holds(look(sandbox), "\"pid\""));
}

TEST_CASE_METHOD(OneSegment, "processes that are gone are not shown", "[live]")
{
    CHECK_FALSE(holds(look(sandbox), "\"pid\""));
}

TEST_CASE_METHOD(OneSegment, "hostile segments can be looked at", "[live][fuzz]")
{
    segment->pid = (uint32_t)getppid();
    mount_start(&segment.home);
    for (uint32_t i = 0; i < 3; i++) {
        lane *lane = segment.lane(i);
        lane->cells_used = 2;
        lane->cells[0].counts.counter[COUNTER_write_ops] = lane->cells[1].counts.counter[COUNTER_read_ops] = 1;
    }
    std::vector<unsigned char> sound((unsigned char *)segment.home.segment, (unsigned char *)segment.home.segment + SEGMENT_FIXED_BYTES + 3 * LANE_BYTES);
    const struct { size_t begin, bytes; } regions[] = {
        { offsetof(struct segment, process), offsetof(struct segment, spool_dir) - offsetof(struct segment, process) },
        { offsetof(struct segment, mounts), sizeof(((struct segment *)nullptr)->mounts) / 16 },
        { offsetof(struct segment, text), 128 },
        { SEGMENT_FIXED_BYTES, offsetof(lane, cells) },
    };
    std::mt19937_64 random(20261123);
    auto change = [&](unsigned variant) {
        std::memcpy((void *)segment.home.segment, sound.data(), sound.size());
        const auto &region = regions[variant % 4];
        for (unsigned flips = 1 + (unsigned)(random() % 4); flips > 0; flips--) {
            unsigned char *byte = (unsigned char *)segment.home.segment + region.begin + random() % region.bytes;
            *byte = random() % 2 == 0 ? (unsigned char)(*byte ^ 1u << random() % 8) : (unsigned char)random();
        }
    };
    unsigned variant = 0, shown = 0;
    for (const std::string &printed : looks(sandbox, 400, change)) {
        CAPTURE(variant++);
        REQUIRE(printed.substr(printed.size() - 3) == "]}\n");
        REQUIRE(printed.find('\n') == printed.size() - 1);
        shown += holds(printed, "\"pid\"");
    }
    CHECK(shown > 100);
}
