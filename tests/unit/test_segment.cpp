#include "catch.h"
#include "sandbox.h"
#include "schema_frame.inc"

#include <cstring>
#include <sys/mman.h>
#include <sys/mount.h>

namespace fs = std::filesystem;

TEST_CASE("tests see the segment as the engine lays it out", "[segment]")
{
    CHECK(segment_layout() == segment_layout_of(SCHEMA_ID));
    CHECK(segment_layout() != segment_layout_of(SCHEMA_ID + 1));
}

TEST_CASE("a segment is a private file of this build, with its head in memory", "[segment]")
{
    Sandbox sandbox;
    Segment segment(sandbox, "a-job.77");
    CHECK(fs::path(segment.home.path).filename() == "a-job.77.0");
    CHECK(fs::file_size(segment.home.path) == sizeof(struct segment));
    CHECK((fs::status(segment.home.path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK((fs::status(fs::path(segment.home.path).parent_path()).permissions() & fs::perms::all) == fs::perms::owner_all);
    CHECK(std::string(segment->version) == SLICEWISE_VERSION);

    struct stat status;
    REQUIRE(stat(segment.home.path, &status) == 0);
    CHECK(status.st_blocks * 512 < 64 << 10);
}

TEST_CASE("a second segment of the same name gets the next number", "[segment]")
{
    Sandbox sandbox;
    Segment first(sandbox), second(sandbox);
    CHECK(std::string(first.home.path) != second.home.path);
    CHECK(fs::path(second.home.path).extension() == ".1");
}

TEST_CASE("a directory that others may write to is no place for a segment", "[segment]")
{
    Sandbox sandbox;
    char user_dir[256];
    segment_user_dir(user_dir, sizeof user_dir, sandbox.path().c_str(), geteuid());
    SECTION("writable by all")
    {
        fs::create_directory(user_dir);
        fs::permissions(user_dir, fs::perms::all);
    }
    SECTION("a link to somewhere else")
    {
        fs::create_directory(sandbox.path("elsewhere"));
        fs::create_symlink(sandbox.path("elsewhere"), user_dir);
    }
    SECTION("a file") { sandbox.write(fs::path(user_dir).filename(), ""); }
    SECTION("a dir that is not there") { fs::remove_all(sandbox.path()); }
    std::string tmpdir = fs::temp_directory_path() / "slicewise-unit-tmpdir";
    fs::create_directory(tmpdir);
    setenv("TMPDIR", tmpdir.c_str(), 1);
    segment_home home;
    REQUIRE(segment_create(&home, sandbox.path().c_str(), "job.1") == 0);
    CHECK(home.place == PLACE_tmpdir);
    CHECK(std::string(home.path).rfind(tmpdir, 0) == 0);
    segment_unmap(&home);

    setenv("TMPDIR", "/nowhere", 1);
    REQUIRE(segment_create(&home, sandbox.path().c_str(), "job.1") == 0);
    CHECK(home.place == PLACE_private);
    CHECK(home.path[0] == '\0');
    CHECK(segment_reserve(&home, home.segment->frames, FRAMES_BYTES) == 0);
    segment_unmap(&home);
    unsetenv("TMPDIR");
    fs::remove_all(tmpdir);
}

TEST_CASE("memory is reserved before it is touched, and costs what was asked for", "[segment]")
{
    Sandbox sandbox;
    Segment segment(sandbox);
    struct stat before, after;
    REQUIRE(stat(segment.home.path, &before) == 0);
    bool is_by_path = GENERATE(false, true);
    segment.home.reserves_by_path = is_by_path; /* as where the kernel cannot populate a mapping */
    REQUIRE(segment_reserve(&segment.home, segment->frames, FRAMES_BYTES) == 0);
    REQUIRE(stat(segment.home.path, &after) == 0);
    CHECK((uint64_t)(after.st_blocks - before.st_blocks) * 512 >= FRAMES_BYTES - FRAMES_KEPT_BYTES);
    CHECK((uint64_t)(after.st_blocks - before.st_blocks) * 512 <= FRAMES_BYTES + 4 * PAGE_BYTES);

    REQUIRE(segment_reserve(&segment.home, segment_lane(segment.home.segment, LANES_MAX - 1), LANE_BYTES) == 0);
    std::memset(segment_lane(segment.home.segment, LANES_MAX - 1), 1, LANE_BYTES);
}

TEST_CASE("what shared memory has no room for is refused, and does not kill", "[segment]")
{
    Sandbox sandbox;
    std::string small = sandbox.path("small");
    fs::create_directory(small);
    if (mount("none", small.c_str(), "tmpfs", 0, "size=128k") != 0) {
        WARN("skipped: no right to mount a small tmpfs");
        return;
    }
    {
        segment_home home;
        REQUIRE(segment_create(&home, small.c_str(), "job.1") == 0);
        CHECK(home.place == PLACE_shm);
        CHECK((segment_reserve(&home, home.segment->records, sizeof home.segment->records) < 0 ||
               segment_reserve(&home, home.segment->frames, FRAMES_BYTES) < 0));
        segment_unmap(&home);
        setenv("TMPDIR", sandbox.path().c_str(), 1);
        /* What is left is too little for another one. */
        REQUIRE(segment_create(&home, small.c_str(), "job.2") == 0);
        CHECK(home.place == PLACE_tmpdir);
        unsetenv("TMPDIR");
        segment_unmap(&home);
    }
    umount2(small.c_str(), MNT_DETACH);
}

TEST_CASE("text is kept until there is no room, and then is empty", "[segment]")
{
    Sandbox sandbox;
    Segment segment(sandbox);
    CHECK(segment_add_text(&segment.home, "") == 0);
    uint64_t first = segment_add_text(&segment.home, "/scratch");
    CHECK(std::string(segment_text(segment.home.segment, first)) == "/scratch");
    std::string long_one(1000, 'x');
    unsigned added = 0;
    while (segment_add_text(&segment.home, long_one.c_str()) != 0)
        added++;
    CHECK(added == (TEXT_BYTES - 15) / 1001);
    CHECK(segment_add_text(&segment.home, "short") != 0);
    CHECK(segment->text_used <= TEXT_BYTES);
    CHECK(std::string(segment_text(segment.home.segment, first)) == "/scratch");
    CHECK(std::string(segment_text(segment.home.segment, TEXT_BYTES)) == "");
}
