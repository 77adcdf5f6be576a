/* A collector drains a living process's segment: neither waits for the other, and whoever dies when, nothing is lost and nothing doubled. */
#include "catch.h"
#include "sandbox.h"
#include "stepper.h"

#include <cstring>
#include <memory>
#include <random>

namespace fs = std::filesystem;

namespace {

constexpr size_t WATCHED_BYTES = SEGMENT_FIXED_BYTES + LANE_BYTES;

/* A round of visits to all segments of the sandbox, as by a collector that comes again. */
struct visits visit_all(const Sandbox &sandbox, bool looks_closely = false, const char *only_spool_dir = nullptr,
                        struct profiled *profiled = nullptr)
{
    char user_dir[256];
    segment_user_dir(user_dir, sizeof user_dir, sandbox.path().c_str(), geteuid(), 0);
    struct visits visits = {};
    visits.until_ns = 77;
    visits.looks_closely = looks_closely;
    visits.only_spool_dir = only_spool_dir;
    visits.profiled = profiled;
    REQUIRE(visits_begin(&visits) == 0);
    int dir = adopt_open_dir(user_dir);
    REQUIRE(dir >= 0);
    adopt_each(dir, user_dir, "", visit_segment, &visits);
    close(dir);
    visits_end(&visits);
    return visits;
}

/* A segment whose process lives: this one's parent does. */
struct LivingSegment : Segment {
    explicit LivingSegment(const Sandbox &sandbox) : Segment(sandbox) { home.segment->pid = (uint32_t)getppid(); }
};

struct Living {
    Sandbox sandbox;
    LivingSegment segment{ sandbox };
};

/* Closes one record whose write_bytes is a power of two of its own, and packs it: a sum tells which frames are there. */
void pack(Segment &segment, unsigned bit)
{
    record record;
    std::memset(&record, 0, sizeof record);
    record.slice = 1000 + bit;
    record.counts.counter[COUNTER_write_bytes] = 1ull << bit;
    record_append(&segment.home, &record);
    REQUIRE(pack_records(&segment.home, false, 0) == 0);
}

uint64_t written(const std::string &spool)
{
    return fs::exists(spool) ? read_spool(spool).sum("slices", "write_bytes") : 0;
}

/* What a profile has in the end if both die now: a sibling finishes what the process left. */
uint64_t written_in_the_end(const Sandbox &sandbox, Segment &segment)
{
    std::string path = sandbox.path("copy"), spool = sandbox.path("spool-of-copy");
    fs::remove_all(spool);
    fs::create_directory(spool);
    if (fs::exists(segment.spool))
        fs::copy_file(segment.spool, spool + "/node.swz");
    static const uint32_t pid = dead_pid();
    int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(write(fd, segment.home.segment, WATCHED_BYTES) == (ssize_t)WATCHED_BYTES);
    REQUIRE(ftruncate(fd, sizeof(struct segment)) == 0);
    REQUIRE(pwrite(fd, spool.c_str(), spool.size() + 1, offsetof(struct segment, spool_dir)) > 0);
    REQUIRE(pwrite(fd, &pid, sizeof pid, offsetof(struct segment, pid)) == sizeof pid);
    close(fd);
    REQUIRE(adopt_segment(path.c_str(), "").outcome == ADOPTED);
    Spool finished = read_spool(spool + "/node.swz");
    REQUIRE(finished.is_gapless());
    REQUIRE(finished.bytes_passed_over == 0);
    return finished.sum("slices", "write_bytes");
}

} // namespace

TEST_CASE_METHOD(Living, "a living process whose profile lies elsewhere is noted as another run's", "[visit]")
{
    auto profiled = std::make_unique<struct profiled>();
    std::string elsewhere = sandbox.path("elsewhere");
    bool is_elsewhere = GENERATE(false, true);
    visit_all(sandbox, false, is_elsewhere ? elsewhere.c_str() : segment.home.segment->spool_dir, profiled.get());
    REQUIRE(profiled->used == 1);
    CHECK(profiled->of[0].is_elsewhere == is_elsewhere);
}

TEST_CASE_METHOD(Living, "a living process's frames are drained, and their memory is used again", "[visit]")
{
    pack(segment, 0);
    pack(segment, 1);
    uint32_t two_frames = segment.commit().frame_bytes;
    auto visits = visit_all(sandbox);
    CHECK(visits.alive == 1);
    CHECK(visits.drained_bytes == two_frames);
    CHECK(written(segment.spool) == 3);
    CHECK(collected_frames(segment.home.segment) == 2);
    CHECK(segment->collector_until_ns == 77);
    CHECK(segment.commit().frame_bytes == two_frames); /* the process's to change */
    CHECK(visit_all(sandbox).drained_bytes == 0);

    pack(segment, 2);
    CHECK(segment.commit().frame_bytes < two_frames);
    CHECK(segment->problems[PROBLEM_segment_full] == 0);
    visit_all(sandbox);
    CHECK(written(segment.spool) == 7);
    CHECK(read_spool(segment.spool).repeated == 0);
    CHECK(written_in_the_end(sandbox, segment) == 7);
}

TEST_CASE_METHOD(Living, "a process drains what its collector has not, and no more", "[visit]")
{
    pack(segment, 0);
    visit_all(sandbox);
    pack(segment, 1); /* in the place of the first */
    pack(segment, 2);
    CHECK(drain_frames(&segment.home) == 0);
    pack(segment, 3);
    visit_all(sandbox);
    CHECK(drain_frames(&segment.home) == 0); /* nothing is left to drain */
    pack(segment, 4);
    pack(segment, 5);
    segment->collected = collected_pack(5); /* the one, and not the other that came while it was noted */
    CHECK(segment_finish(&segment.home, ENDING_exit, 1, 0) == 0);
    Spool spool = read_spool(segment.spool);
    CHECK_FALSE(spool.is_gapless()); /* that collector did not tell the truth */
    CHECK(spool.sum("slices", "write_bytes") == 31 - 16 + 32);
    CHECK(spool.repeated == 0);
}

TEST_CASE_METHOD(OneSegment, "a dead process's segment is finished by a visit", "[visit]")
{
    pack(segment, 0);
    auto visits = visit_all(sandbox);
    CHECK(visits.finished == 1);
    CHECK(visits.alive == 0);
    CHECK(written(segment.spool) == 1);
    CHECK_FALSE(fs::exists(segment.home.path));
}

TEST_CASE_METHOD(Living, "a process that took a dead one's number is found out at a close look", "[visit]")
{
    pack(segment, 0); /* our parent does not map it */
    CHECK(visit_all(sandbox).finished == 0);
    CHECK(visit_all(sandbox, true).finished == 1);
}

TEST_CASE_METHOD(Living, "where the spool cannot be written, nothing is promised and nothing forgotten", "[visit]")
{
    pack(segment, 0);
    uint64_t room = GENERATE(0u, 40u);
    fake_system.is_disk_full = true;
    fake_system.disk_room = room;
    auto visits = visit_all(sandbox);
    CHECK(visits.failed == 1);
    CHECK(visits.error == -ENOSPC);
    CHECK(segment->collector_until_ns == 0);
    CHECK(collected_frames(segment.home.segment) == 0);
    fake_system.is_disk_full = false;
    visit_all(sandbox);
    Spool spool = read_spool(segment.spool);
    CHECK(spool.sum("slices", "write_bytes") == 1);
    CHECK(spool.schema_frames == 1);
    CHECK(spool.bytes_passed_over == room);
}

TEST_CASE_METHOD(Living, "a schema that was torn again and again is written whole in the end", "[visit]")
{
    pack(segment, 0);
    fake_system.is_disk_full = true;
    for (int attempt = 0; attempt < 3; attempt++) { /* so that the file is longer than a schema, and has none */
        fake_system.disk_room = 3000;
        CHECK(visit_all(sandbox).error == -ENOSPC);
    }
    fake_system.is_disk_full = false;
    visit_all(sandbox);
    Spool spool = read_spool(segment.spool);
    CHECK(spool.bytes_passed_over == 9000);
    CHECK(spool.schema_frames == 1);
    CHECK(spool.sum("slices", "write_bytes") == 1);
}

TEST_CASE_METHOD(Living, "a word that is written in halves says nothing", "[visit]")
{
    const uint64_t before = collected_pack(255), after = collected_pack(256);
    for (unsigned bytes = 0; bytes <= 8; bytes++) {
        uint64_t word = before;
        std::memcpy(&word, &after, bytes);
        segment->collected = word;
        uint32_t seen = collected_frames(segment.home.segment);
        CAPTURE(bytes);
        CHECK((seen == 0 || (seen == 255 && bytes == 0) || (seen == 256 && bytes >= 6)));
    }
}

TEST_CASE_METHOD(Living, "frames that are overwritten while they are copied are copied anew", "[visit]")
{
    pack(segment, 0);
    uint32_t first_bytes = segment.commit().frame_bytes;
    fake_system.amid_read_at = offsetof(struct segment, frames);
    fake_system.amid_read_argument = &segment;
    fake_system.amid_read = [](void *argument) {
        Segment &process = *(Segment *)argument;
        drain_frames(&process.home); /* it could not wait */
        pack(process, 1);
    };
    visit_all(sandbox);
    REQUIRE(segment.commit().frame_bytes > first_bytes / 2); /* the new frame did reach into the half that was read later */
    Spool spool = read_spool(segment.spool);
    CHECK(spool.bytes_passed_over == 0);
    CHECK(spool.sum("slices", "write_bytes") == 3);
    CHECK(spool.repeated == 0);
    CHECK(collected_frames(segment.home.segment) == 2);
}

TEST_CASE_METHOD(Living, "frames that are not whole are left to their process", "[visit]")
{
    pack(segment, 0);
    pack(segment, 1);
    SECTION("another process's") { segment->process++; }
    SECTION("a number left out") { segment->commit = segment->commit + (1ull << 32); }
    SECTION("bytes left out") { segment->commit = segment->commit - (1ull << 8); }
    SECTION("an envelope that is not sound") { segment->frames[12]++; }
    SECTION("more than there is room for") { segment->commit = segment->commit | 0xffffffull << 8; }
    auto visits = visit_all(sandbox);
    CHECK(visits.drained_bytes == 0);
    CHECK(written(segment.spool) == 0);
    CHECK(collected_frames(segment.home.segment) == 0);
}

TEST_CASE_METHOD(Living, "a collector comes by at every moment of a process that packs and drains", "[visit][crash]")
{
    const uint64_t all = 31;
    pack(segment, 0);
    unsigned stride = GENERATE(1u, 3u), moment = 0;
    auto run = [&] {
        visit_all(sandbox);
        pack(segment, 1);
        pack(segment, 2);
        drain_frames(&segment.home);
        pack(segment, 3);
        pack(segment, 4);
    };
    uint64_t last = 0;
    step_through({ segment.home.segment, WATCHED_BYTES }, run, [&] {
        if (moment++ % stride == 0)
            visit_all(sandbox);
        uint64_t now = written_in_the_end(sandbox, segment);
        REQUIRE(now >= last);
        REQUIRE((now & (now + 1)) == 0); /* every record from the first on, each once */
        last = now;
    });
    CHECK(written_in_the_end(sandbox, segment) == all);
}

TEST_CASE("a process packs, drains or ends at every moment of a collector's visit, and either dies then", "[visit][crash]")
{
    for (int last = 0;; last++) {
        Sandbox sandbox;
        LivingSegment segment(sandbox);
        pack(segment, 0);
        pack(segment, 1);
        int moment = 0;
        int moments = step_through_system_calls([&] { visit_all(sandbox); }, [&] {
            if (moment >= last) /* what is before is as in the rounds before */
                REQUIRE(written_in_the_end(sandbox, segment) == (moment > last ? 15 : 3));
            if (moment++ == last) {
                pack(segment, 2);
                if (last % 2 == 0)
                    drain_frames(&segment.home);
                pack(segment, 3);
            }
        });
        if (moments < 0 || last >= moments)
            break;
        REQUIRE(written_in_the_end(sandbox, segment) == 15);
        visit_all(sandbox);
        REQUIRE(written(segment.spool) == 15);
    }
}

TEST_CASE("a segment that is cut while it is read or drained harms nobody", "[visit][crash]")
{
    for (int cut = 0;; cut++) {
        Sandbox sandbox;
        LivingSegment living(sandbox);
        pack(living, 0);
        Segment dead(sandbox, "job.2");
        pack(dead, 1);
        std::string paths[] = { living.home.path, dead.home.path };
        int moment = 0;
        int moments = step_through_system_calls([&] { visit_all(sandbox); }, [&] {
            if (moment++ == cut)
                for (const std::string &path : paths)
                    if (fs::exists(path))
                        fs::resize_file(path, cut % 2 == 0 ? 0 : SEGMENT_FIXED_BYTES - PAGE_BYTES);
        }); /* which fails if the child dies of a signal */
        if (moments < 0 || cut >= moments)
            break;
    }
}

TEST_CASE_METHOD(Living, "hostile segments of living processes do no harm", "[visit][fuzz]")
{
    for (unsigned bit = 0; bit < 6; bit++)
        pack(segment, bit);
    std::string below = sandbox.path() + "/"; /* and not beside it */
    std::string kept = sandbox.path("kept");
    fs::create_hard_link(segment.home.path, kept);
    fake_system.writable_below = below.c_str();
    const size_t head = offsetof(struct segment, text);
    std::vector<unsigned char> sound((unsigned char *)segment.home.segment, (unsigned char *)segment.home.segment + SEGMENT_FIXED_BYTES);
    const struct { size_t begin, bytes; } regions[] = {
        { 0, offsetof(struct segment, spool_dir) },
        { offsetof(struct segment, spool_dir), 64 },
        { offsetof(struct segment, text), 64 },
        { offsetof(struct segment, frames), segment.commit().frame_bytes },
        { 0, head },
    };
    std::mt19937_64 random(20261122);
    unsigned drained = 0;
    for (unsigned variant = 0; variant < 1500; variant++) {
        std::memcpy((void *)segment.home.segment, sound.data(), sound.size());
        const auto &region = regions[variant % 5];
        for (unsigned flips = 1 + (unsigned)(random() % 4); flips > 0; flips--) {
            size_t at = region.begin + random() % region.bytes;
            unsigned char *byte = (unsigned char *)segment.home.segment + at;
            *byte = random() % 2 == 0 ? (unsigned char)(*byte ^ 1u << random() % 8) : (unsigned char)random();
        }
        CAPTURE(variant);
        if (!fs::exists(segment.home.path)) /* taken for a dead one's, and finished */
            fs::create_hard_link(kept, segment.home.path);
        drained += visit_all(sandbox, variant % 50 == 49).drained_bytes > 0;
        if (fs::exists(segment.spool)) {
            REQUIRE_NOTHROW(read_spool(segment.spool));
            fs::remove(segment.spool);
        }
    }
    CHECK(drained > 100);
}
