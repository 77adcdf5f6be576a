/* Finishing what others left: whom it may touch, and what a hostile file can do (nothing). */
#include "catch.h"
#include "sandbox.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace fs = std::filesystem;

namespace {

void count(Segment &segment, uint64_t bytes)
{
    lane *lane = segment.lane(0);
    lane->slice = 1000;
    lane->cells[0].mount = 1;
    lane->cells[0].layer = LAYER_posix;
    lane->cells[0].counts.counter[COUNTER_write_bytes] += bytes;
    lane->cells_used = 1;
}

/* A process that lives as long as this, with the segment mapped or not. */
class Living {
public:
    Living(Segment &segment, bool has_it_mapped)
    {
        int ready[2];
        REQUIRE(pipe(ready) == 0);
        pid = fork();
        if (pid == 0) {
            if (!has_it_mapped)
                munmap(segment.home.segment, sizeof(struct segment));
            close(ready[0]);
            close(ready[1]); /* the last end that could be written to */
            for (;;)
                pause();
        }
        segment->pid = (uint32_t)pid;
        close(ready[1]);
        char none;
        REQUIRE(read(ready[0], &none, 1) == 0); /* its munmap has happened */
        close(ready[0]);
    }
    ~Living()
    {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }

private:
    pid_t pid;
};

/* A segment such as a process leaves: every table filled, a packed frame, closed records, open lanes. */
void fill_like_a_process(Segment &segment)
{
    mount_start(&segment.home);
    for (uint32_t file = 1; file < 8; file++) {
        stream stream;
        std::memset((void *)&stream, 0, sizeof stream);
        stream.id = file;
        files_enter(&segment.home, &stream, 2, ("/scratch/file" + std::to_string(file)).c_str());
        REQUIRE(stream.file == file);
    }
    record record;
    std::memset(&record, 0, sizeof record);
    for (uint64_t slice = 1000; slice < 1120; slice++) {
        record.slice = slice;
        record.counts.counter[COUNTER_write_bytes] = slice * slice;
        record_append(&segment.home, &record);
    }
    for (uint32_t index = 0; index < 3; index++) {
        lane *lane = segment.lane(index);
        lane->slice = 1120;
        lane->streams[index].descriptor = 1;
        lane->streams[index].file = index;
        lane->calls[OP_write] = 100;
        lane->cells_used = 2;
    }
}

} // namespace

TEST_CASE_METHOD(OneSegment, "a dead process's segment is finished and removed", "[adopt]")
{
    count(segment, 42);
    auto result = adopt_segment(segment.home.path, "");
    CHECK(result.outcome == ADOPTED);
    CHECK(std::string(result.spool) == segment.spool);
    CHECK_FALSE(fs::exists(segment.home.path));
    Spool spool = read_spool(segment.spool);
    CHECK(spool.sum("slices", "write_bytes") == 42);
    REQUIRE(spool.frames.size() == 1);
    CHECK(spool.frames[0].flags == (FORMAT_LAST_FRAME | FORMAT_RECOVERED));
    auto process = spool.rows("processes").at(0);
    CHECK(process["ending"] == ENDING_killed);
    CHECK(process["end_ns"] == 1001 * 4000000000ull);
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPT_FOREIGN);
}

TEST_CASE_METHOD(OneSegment, "a living process's segment is left alone, by whatever path it is come to", "[adopt]")
{
    count(segment, 42);
    Living process(segment, true);
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPT_ALIVE);

    fs::path file = segment.home.path, user_dir = file.parent_path();
    std::string name = user_dir.filename() / file.filename();
    fs::create_directory_symlink(sandbox.path(), sandbox.path("link"));
    CHECK(adopt_segment((sandbox.path() + "//" + name).c_str(), "").outcome == ADOPT_ALIVE);
    CHECK(adopt_segment((sandbox.path("link") + "/" + name).c_str(), "").outcome == ADOPT_ALIVE);
    CHECK(adopt_segment((sandbox.path("./") + name).c_str(), "").outcome == ADOPT_ALIVE);
    fs::path before = fs::current_path();
    fs::current_path(sandbox.path());
    CHECK(adopt_segment(name.c_str(), "").outcome == ADOPT_ALIVE);
    fs::current_path(before);
    CHECK(fs::exists(segment.home.path));
    CHECK_FALSE(fs::exists(segment.spool));
}

TEST_CASE_METHOD(OneSegment, "a process that took a dead one's number does not keep its segment", "[adopt]")
{
    count(segment, 42);
    Living process(segment, false);
    SECTION("killed")
    {
        CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
        CHECK(read_spool(segment.spool).rows("processes").at(0)["ending"] == ENDING_killed);
    }
    SECTION("replaced by exec")
    {
        segment->state = SEGMENT_LEAVING;
        CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
        CHECK(read_spool(segment.spool).rows("processes").at(0)["ending"] == ENDING_exec);
    }
}

TEST_CASE_METHOD(OneSegment, "a segment that somebody else is finishing is his", "[adopt]")
{
    int fd = open(segment.home.path, O_RDWR);
    REQUIRE(flock(fd, LOCK_EX | LOCK_NB) == 0);
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPT_BUSY);
    close(fd);
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
}

TEST_CASE_METHOD(OneSegment, "what is no segment of this build is not touched", "[adopt]")
{
    SECTION("another version") { segment->version[0] = '9'; }
    SECTION("another layout") { segment->layout++; }
    SECTION("another magic") { segment->magic[0]++; }
    SECTION("another size") { fs::resize_file(segment.home.path, sizeof(struct segment) - 1); }
    SECTION("no text's end") { segment->text[TEXT_BYTES - 1] = 'x'; }
    SECTION("more lanes than there are") { segment->lanes_used = LANES_MAX + 1; }
    SECTION("slices of no length") { segment->process_row[processes_slice_ns] = 0; }
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPT_FOREIGN);
    CHECK(fs::exists(segment.home.path));
    CHECK_FALSE(fs::exists(segment.spool));
}

TEST_CASE_METHOD(OneSegment, "a segment whose pid namespace could not be told is not touched while its process lives", "[adopt]")
{
    Living process(segment, true);
    segment->pid_namespace = 0;
    CHECK(adopt_segment(segment.home.path, "").outcome != ADOPTED);
    CHECK(fs::exists(segment.home.path));
    CHECK_FALSE(fs::exists(segment.spool));
}

TEST_CASE_METHOD(OneSegment, "links and pipes are no segments", "[adopt]")
{
    std::string link = sandbox.path("link"), pipe = sandbox.path("pipe");
    fs::create_symlink(segment.home.path, link);
    mkfifo(pipe.c_str(), 0600);
    CHECK(adopt_segment(link.c_str(), "").outcome == ADOPT_FOREIGN);
    CHECK(adopt_segment(pipe.c_str(), "").outcome == ADOPT_FOREIGN);
    CHECK(adopt_segment(sandbox.path("none").c_str(), "").outcome == ADOPT_FOREIGN);
    CHECK(fs::exists(segment.home.path));
}

TEST_CASE_METHOD(OneSegment, "a process that was killed before it could count leaves nothing", "[adopt]")
{
    segment->state = SEGMENT_BEGINNING;
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
    CHECK_FALSE(fs::exists(segment.home.path));
    CHECK_FALSE(fs::exists(segment.spool));
}

TEST_CASE_METHOD(OneSegment, "what cannot be drained stays, with the reason", "[adopt]")
{
    count(segment, 42);
    fake_system.is_disk_full = true;
    auto result = adopt_segment(segment.home.path, "");
    CHECK(result.outcome == ADOPT_FAILED);
    CHECK(result.error == -ENOSPC);
    fake_system.is_disk_full = false;
    CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
    CHECK(read_spool(segment.spool).sum("slices", "write_bytes") == 42);
}

TEST_CASE("a directory's segments are adopted by prefix, and only in a directory of one's own", "[adopt]")
{
    Sandbox sandbox;
    Segment one(sandbox, "a.1"), two(sandbox, "a.2"), other(sandbox, "b.1");
    std::vector<std::string> done;
    auto note = [](const char *path, const adoption_result *result, void *argument) {
        if (result->outcome == ADOPTED)
            ((std::vector<std::string> *)argument)->push_back(fs::path(path).filename());
    };
    fs::path user_dir = fs::path(one.home.path).parent_path();
    fs::permissions(user_dir, fs::perms::all);
    adopt_all(sandbox.path().c_str(), "a.", "", note, &done);
    CHECK(done.empty());
    fs::permissions(user_dir, fs::perms::owner_all);
    adopt_all(sandbox.path().c_str(), "a.", "", note, &done);
    std::sort(done.begin(), done.end());
    CHECK(done == std::vector<std::string>{ "a.1.0", "a.2.0" });
    CHECK(fs::exists(other.home.path));
}

/* Whatever the bytes say: nothing outside the sandbox is written, nothing is read or written beyond the segment (the sanitizers see to
 * that), and whatever comes out is a sound file. */
TEST_CASE("hostile segments do no harm", "[adopt][fuzz]")
{
    Sandbox sandbox;
    std::string path = sandbox.path("hostile"), spool = sandbox.path("spool/node.swz");
    const size_t bytes = SEGMENT_FIXED_BYTES + 3 * LANE_BYTES;
    std::vector<unsigned char> sound(bytes);
    {
        Segment segment(sandbox);
        fill_like_a_process(segment);
        std::memcpy(sound.data(), segment.home.segment, bytes);
        fs::remove(segment.home.path);
    }
    fake_system.writable_below = nullptr;
    std::string below = sandbox.path() + "/"; /* and not beside it */
    std::mt19937_64 random(20261121);
    /* Most bits lie in tables whose content is free: mutate the head, the lanes' heads and streams, and anything. */
    const struct { size_t begin, bytes; } regions[] = {
        { offsetof(segment, process), offsetof(segment, spool_dir) - offsetof(segment, process) },
        { offsetof(segment, spool_dir), 64 },
        { offsetof(segment, mounts), sizeof(((segment *)nullptr)->mounts) / 16 },
        { offsetof(segment, frames), 512 },
        { SEGMENT_FIXED_BYTES, offsetof(lane, cells) },
        { 0, bytes },
    };
    unsigned adopted = 0, refused = 0;
    for (unsigned variant = 0; variant < 2000; variant++) {
        std::vector<unsigned char> hostile = sound;
        const auto &region = regions[variant % 6];
        for (unsigned flips = 1 + (unsigned)(random() % 4); flips > 0; flips--) {
            size_t at = region.begin + random() % region.bytes;
            hostile[at] = random() % 2 == 0 ? (unsigned char)(hostile[at] ^ 1u << random() % 8) : (unsigned char)random();
        }
        std::ofstream(path, std::ios::binary | std::ios::trunc).write((const char *)hostile.data(), (std::streamsize)bytes);
        fs::resize_file(path, sizeof(segment));
        CAPTURE(variant);
        fake_system.writable_below = below.c_str();
        auto result = adopt_segment(path.c_str(), "");
        fake_system.writable_below = nullptr;
        if (result.outcome == ADOPTED) {
            adopted++;
            if (fs::exists(spool))
                REQUIRE_NOTHROW(read_spool(spool));
        } else {
            refused++;
        }
        if (variant % 5 == 0) /* each time all of it is read */
            fs::remove(spool);
    }
    CHECK(adopted > 500);
    CHECK(refused > 100);
}

TEST_CASE("a program that another one replaced ended at its exec, or with the process where that one counted nothing", "[adopt]")
{
    const uint64_t end_ns = 1'700'000'000'000'000'123;
    Sandbox sandbox;
    Segment segment(sandbox);
    count(segment, 42);
    Living process(segment, false);
    segment->state = SEGMENT_LEAVING;
    segment->last_call_ns = end_ns;
    SECTION("at its exec")
    {
        CHECK(adopt_segment(segment.home.path, "").outcome == ADOPTED);
        auto row = read_spool(segment.spool).rows("processes").at(0);
        CHECK(row["ending"] == ENDING_exec);
        CHECK(row["end_ns"] == end_ns);
    }
    SECTION("with the process")
    {
        CHECK(adopt_predecessor(segment.home.path, ENDING_exit, end_ns + 5).outcome == ADOPTED);
        auto row = read_spool(segment.spool).rows("processes").at(0);
        CHECK(row["ending"] == ENDING_exit);
        CHECK(row["end_ns"] == end_ns + 5);
    }
    SECTION("not one that left no word")
    {
        segment->state = SEGMENT_LIVE;
        CHECK(adopt_predecessor(segment.home.path, ENDING_exit, end_ns + 5).outcome == ADOPTED);
        CHECK(read_spool(segment.spool).rows("processes").at(0)["ending"] == ENDING_killed);
    }
}
