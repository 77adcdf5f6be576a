/* What stays of processes that cannot write their profile, for how long, and what a job's processes know together. */
#include "catch.h"
#include "sandbox.h"

#include <sys/stat.h>

namespace fs = std::filesystem;

namespace {

constexpr uint64_t DAY_NS = 86400ull * 1000000000;

struct Directory {
    explicit Directory(const Sandbox &sandbox) : path(sandbox.path("slicewise-kept")), fd(-1)
    {
        fs::create_directory(path);
        fs::permissions(path, fs::perms::owner_all);
        fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        REQUIRE(fd >= 0);
    }
    ~Directory() { close(fd); }

    void add(const std::string &name, mode_t mode) const
    {
        int file = open((path + "/" + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        REQUIRE(file >= 0);
        REQUIRE(fchmod(file, mode) == 0);
        close(file);
    }
    bool has(const std::string &name) const { return fs::exists(path + "/" + name); }

    std::string path;
    int fd;
};

} // namespace

TEST_CASE_METHOD(OneSegment, "a segment is worth its memory if it tells what somebody may ask for", "[keep]")
{
    segment->mounts[1][mounts_object] = OBJECT_pipe;
    segment->mounts[2][mounts_object] = OBJECT_file;
    segment->totals[1].bytes[KIND_write] = segment->kernel_bytes[KIND_write] = 1000000;
    segment->totals[1].ns[KIND_write] = 90000000;
    CHECK_FALSE(keep_is_worth(segment.home.segment));
    SECTION("bytes on a file") { segment->totals[2].bytes[KIND_read] = 1; }
    SECTION("time in calls") { segment->totals[0].ns[KIND_meta] = 10000000; }
    SECTION("bytes past the calls") { segment->kernel_bytes[KIND_read] = KERNEL_LITTLE_BYTES + 1; }
    SECTION("a program that could not be profiled") { segment->unprofiled_used = 1; }
    SECTION("a rank") { segment->process_row[processes_ranks] = 4; }
    CHECK(keep_is_worth(segment.home.segment));
}

TEST_CASE_METHOD(OneSegment, "what stays is marked, and goes after its days; what is not marked and what is young is left", "[keep]")
{
    Directory directory(sandbox);
    directory.add("a.job.1.0", 0600);
    directory.add("a.job.2.0", 0600);
    directory.add(".job.a.job", 0600);
    directory.add(".node.a.job", 0600);
    REQUIRE(keep_segment(directory.fd, "a.job.1.0", segment.home.segment, false));
    CHECK(keep_has_segments(directory.fd, "a.job"));
    CHECK_FALSE(keep_has_segments(directory.fd, "a"));

    struct staying staying = {};
    keep_count(directory.fd, (directory.path + "/a.job.1.0").c_str(), &staying);
    keep_count(directory.fd, (directory.path + "/a.job.2.0").c_str(), &staying);
    CHECK(staying.kept.segments == 1);
    struct removal removal = {};
    for (uint64_t days : { KEPT_DAYS - 1, KEPT_DAYS + 1 }) {
        removal.now_ns = staying.since_ns + days * DAY_NS;
        for (const char *name : { "/a.job.1.0", "/a.job.2.0", "/.job.a.job", "/.node.a.job" })
            keep_remove_old(directory.fd, (directory.path + name).c_str(), &removal);
        bool is_old = days > KEPT_DAYS;
        CHECK(directory.has("a.job.1.0") != is_old);
        CHECK(directory.has(".job.a.job") != is_old);
        CHECK(removal.removed.segments == (is_old ? 1 : 0));
    }
    CHECK(directory.has("a.job.2.0"));
    CHECK(directory.has(".node.a.job"));
}

TEST_CASE_METHOD(OneSegment, "a segment of little worth goes where it may, and stays where it may not", "[keep]")
{
    Directory directory(sandbox);
    directory.add("job.1.0", 0600);
    CHECK(keep_segment(directory.fd, "job.1.0", segment.home.segment, false));
    CHECK(directory.has("job.1.0"));
    CHECK_FALSE(keep_segment(directory.fd, "job.1.0", segment.home.segment, true));
    CHECK_FALSE(directory.has("job.1.0"));
}

TEST_CASE("one process of a job speaks, and what happens is counted", "[job_page]")
{
    Sandbox sandbox;
    std::string dir = sandbox.path();
    CHECK(job_page_open(dir.c_str(), "job", false) == nullptr);
    CHECK(job_page_may_speak(dir.c_str(), "job"));
    CHECK_FALSE(job_page_may_speak(dir.c_str(), "job"));
    CHECK(job_page_may_speak(dir.c_str(), "another"));
    job_page_end(dir.c_str(), "another"); /* there is nothing noted in it */
    CHECK(job_page_may_speak(dir.c_str(), "another"));
    for (int i = 0; i < 3; i++)
        job_page_note(dir.c_str(), "job", JOB_NOTE_no_memory);
    job_page_end(dir.c_str(), "job");
    struct job_page *page = job_page_open(dir.c_str(), "job", false);
    REQUIRE(page != nullptr);
    CHECK(page->notes[JOB_NOTE_no_memory] == 3);
    CHECK(page->notes[JOB_NOTE_dropped] == 0);
    job_page_close(page);
}

TEST_CASE("a page of another build, and one that is cut short, is none", "[job_page]")
{
    Sandbox sandbox;
    std::string dir = sandbox.path();
    REQUIRE(job_page_may_speak(dir.c_str(), "job"));
    std::string path = dir + "/slicewise-" + std::to_string(geteuid()) + "/.job.job";
    SECTION("another build's")
    {
        struct job_page *page = job_page_open(dir.c_str(), "job", false);
        page->layout++;
        job_page_close(page);
    }
    SECTION("too short") { fs::resize_file(path, 100); }
    CHECK(job_page_open(dir.c_str(), "job", false) == nullptr);
}

TEST_CASE("a spool that does not answer is asked again by one process at a time, at growing intervals", "[job_page]")
{
    Sandbox sandbox;
    const uint64_t wait_ns = 5000000000, longest_ns = JOB_PAGE_LONGEST_SECONDS * 1000000000ull;
    fake_system.has_clock = true;
    fake_system.monotonic_ns = 1000000000000;
    struct job_page page = {};
    CHECK(job_page_silence(nullptr, "/spool", wait_ns) == SPOOL_ASKED);
    CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_ASKED);
    for (int parallel = 0; parallel < 3; parallel++) /* who asked at the same time waited as well, and no longer */
        job_page_is_silent(&page, "/spool", wait_ns, false);
    CHECK(job_page_silence(&page, "/another", wait_ns) == SPOOL_ASKED);
    for (uint64_t interval_ns = JOB_PAGE_WAITS * wait_ns, times = 0; times < 12; times++) {
        fake_system.monotonic_ns += interval_ns - 1;
        CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_SILENT);
        fake_system.monotonic_ns += 1;
        CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_ASKED_AGAIN);
        CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_SILENT);
        fake_system.monotonic_ns += wait_ns;
        job_page_is_silent(&page, "/spool", wait_ns, true);
        interval_ns = 2 * interval_ns < longest_ns ? 2 * interval_ns : longest_ns;
    }
    fake_system.monotonic_ns = 1000; /* the node has started again */
    CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_ASKED_AGAIN);
    job_page_answers(&page, "/another");
    CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_SILENT);
    job_page_answers(&page, "/spool");
    CHECK(job_page_silence(&page, "/spool", wait_ns) == SPOOL_ASKED);
}
