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

/* What somebody else may have put where a user's directory of segments belongs. */
static void take_place(const Sandbox &sandbox, const std::string &what, unsigned number)
{
    char user_dir[256];
    segment_user_dir(user_dir, sizeof user_dir, sandbox.path().c_str(), geteuid(), number);
    if (what == "file") {
        sandbox.write(fs::path(user_dir).filename(), "");
        return;
    }
    fs::path dir = what == "link" ? sandbox.path("elsewhere" + std::to_string(number)) : user_dir;
    fs::create_directory(dir);
    if (what == "link")
        fs::create_symlink(dir, user_dir);
    else
        fs::permissions(dir, fs::perms::all);
}

TEST_CASE("where a directory of segments is not the user's alone, the next name is taken", "[segment]")
{
    Sandbox sandbox;
    std::string what = GENERATE("writable by all", "link", "file");
    unsigned taken = GENERATE(1u, USER_DIRS - 1u);
    for (unsigned number = 0; number < taken; number++)
        take_place(sandbox, what, number);
    segment_home home;
    REQUIRE(segment_create(&home, sandbox.path().c_str(), "job.1") == 0);
    CHECK(home.place == PLACE_shm);
    CHECK(fs::path(home.path).parent_path().filename() == "slicewise-" + std::to_string(geteuid()) + "." + std::to_string(taken));
    segment_unmap(&home);
    unsigned found = 0;
    auto count = [](int fd, const char *user_dir, void *argument) {
        adopt_each(fd, user_dir, "", [](int, const char *, void *files) { ++*(unsigned *)files; }, argument);
    };
    adopt_each_dir(sandbox.path().c_str(), count, &found);
    CHECK(found == 1);
}

TEST_CASE("names of directories of segments", "[segment]")
{
    for (const char *name : { "slicewise-0", "slicewise-65534", "slicewise-1000.1", "slicewise-1000.12" })
        CHECK(segment_is_user_dir(name));
    const char *const others[] = { "slicewise-", "slicewise", "slicewise-test-1", "slicewise-1.", "slicewise-1.a", "slicewise-1.2.3",
                                   "slicewise-.1", "other-1", "" };
    for (const char *name : others)
        CHECK_FALSE(segment_is_user_dir(name));
}

TEST_CASE("a directory that others may write to is no place for a segment", "[segment]")
{
    Sandbox sandbox;
    SECTION("a dir that is not there") { fs::remove_all(sandbox.path()); }
    for (const char *what : { "writable by all", "link", "file" })
        DYNAMIC_SECTION(what)
        {
            for (unsigned number = 0; number < USER_DIRS; number++)
                take_place(sandbox, what, number);
        }
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

TEST_CASE_METHOD(OneSegment, "memory is reserved before it is touched, and costs what was asked for", "[segment]")
{
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

TEST_CASE_METHOD(OneSegment, "text is kept until there is no room, and then is empty", "[segment]")
{
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
