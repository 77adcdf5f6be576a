#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <map>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>

namespace {

enum object object_of(int fd)
{
    return (enum object)engine.home.segment->mounts[descriptor_mount(descriptor_of(fd))][mounts_object];
}

void write_to(Engine &started, int fd, int64_t bytes)
{
    struct call call = started.call(OP_write, 10);
    call_wrote(&call, fd, NO_OFFSET, bytes);
}

} // namespace

TEST_CASE_METHOD(Started, "descriptors that came to be behind our back are looked at when first used", "[descriptor]")
{
    int pair[2], ends[2], file = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600), null = open("/dev/null", O_WRONLY);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    REQUIRE(pipe(ends) == 0);
    CHECK(object_of(file) == OBJECT_file);
    CHECK(object_of(null) == OBJECT_device);
    CHECK(object_of(ends[0]) == OBJECT_pipe);
    CHECK(object_of(pair[0]) == OBJECT_socket);
    CHECK(object_of(1 << 19) == OBJECT_other);
    CHECK(object_of(-1) == OBJECT_other);
    CHECK(descriptor_of(file) == descriptor_of(file));
    for (int fd : { pair[0], pair[1], ends[0], ends[1], file, null })
        close(fd);
}

TEST_CASE_METHOD(Started, "a number that is closed and opened again leads to the new file", "[descriptor]")
{
    int fd = open(sandbox.path("first").c_str(), O_RDWR | O_CREAT, 0600);
    write_to(started, fd, 100);
    descriptor released = descriptor_release(fd);
    CHECK(descriptor_mount(released) == descriptor_mount(descriptor_of(fd)));
    REQUIRE(dup2(open(sandbox.path("second").c_str(), O_RDWR | O_CREAT, 0600), fd) == fd);
    descriptor_release(fd);
    write_to(started, fd, 7);
    Spool spool = started.finish();
    std::map<std::string, uint64_t> bytes;
    for (Row &row : spool.rows("files"))
        bytes[row.text["path"]] += row["write_bytes"];
    CHECK(bytes[sandbox.path("first")] == 100);
    CHECK(bytes[sandbox.path("second")] == 7);
    close(fd);
    close(fd + 1);
}

TEST_CASE_METHOD(Started, "a file that lives has the name it was opened by, though the kernel let go of the name", "[descriptor]")
{
    std::string opened = sandbox.path("opened"), gone = sandbox.path("gone"), odd = sandbox.path("odd (deleted)");
    int lives = open(opened.c_str(), O_RDWR | O_CREAT, 0600), is_gone = open(gone.c_str(), O_RDWR | O_CREAT, 0600);
    int named_so = open(odd.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(link(opened.c_str(), sandbox.path("another").c_str()) == 0);
    REQUIRE(unlink(opened.c_str()) == 0);
    REQUIRE(unlink(gone.c_str()) == 0);
    for (int fd : { lives, is_gone, named_so })
        write_to(started, fd, 1);
    Spool spool = started.finish();
    std::set<std::string> paths;
    for (Row &row : spool.rows("files"))
        paths.insert(row.text["path"]);
    CHECK(paths.count(opened) == 1);
    CHECK(paths.count(gone + " (deleted)") == 1);
    CHECK(paths.count(odd) == 1);
    for (int fd : { lives, is_gone, named_so })
        close(fd);
}

TEST_CASE_METHOD(Started, "a copy leads where the original leads, and a range is forgotten whole", "[descriptor]")
{
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    descriptor original = descriptor_of(fd);
    descriptor_copied(fd, 900);
    CHECK(descriptor_word(900) == original);
    descriptor_copied(901, 900); /* of one that was never looked at */
    CHECK(descriptor_word(900) == 0);
    descriptor_copied(fd, 900);
    descriptor_release_range(800, 899);
    CHECK(descriptor_word(900) != 0);
    descriptor_release_range(3, ~0u);
    CHECK(descriptor_word(900) == 0);
    CHECK(descriptor_word(fd) == 0);
    close(fd);
}

TEST_CASE_METHOD(Started, "descriptors beyond the table are counted all the same", "[descriptor]")
{
    write_to(started, DESCRIPTORS_MAX + 5, 100);
    CHECK(descriptor_release(DESCRIPTORS_MAX + 5) == 0);
    CHECK(started.finish().sum("slices", "write_bytes") == 100);
}

namespace {

struct Moved {
    uint64_t bytes, error;
};

/* Opens, writes and closes a file, whose number is in its name. */
void move_file(Engine &started, const Sandbox &sandbox, unsigned number, int64_t bytes)
{
    int fd = open(sandbox.path("f" + std::to_string(number)).c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(fd >= 0);
    descriptor_opened(fd, AT_FDCWD, sandbox.path("f" + std::to_string(number)).c_str());
    write_to(started, fd, bytes);
    descriptor_release(fd);
    close(fd);
}

std::map<std::string, Moved> files_of(Spool &spool)
{
    std::map<std::string, Moved> files;
    for (Row &row : spool.rows("files")) {
        files[row.text["path"]].bytes += row["write_bytes"];
        files[row.text["path"]].error += row["error_bytes"];
    }
    return files;
}

} // namespace

TEST_CASE_METHOD(Started, "files beyond the table are counted together, and their number is told", "[descriptor]")
{
    const unsigned files = FILES_MAX + 400;
    for (unsigned i = 0; i < files; i++)
        move_file(started, sandbox, i, 10);
    Spool spool = started.finish();
    CHECK(spool.sum("files", "write_bytes") == 10 * files);
    CHECK(spool.sum("files", "opens") == files);
    CHECK(spool.sum("slices", "write_bytes") == 10 * files);
    CHECK(spool.rows("files").at(0)["write_bytes"] == 10 * spool.rows("files").at(0)["opens"]);
    CHECK(spool.rows("files").at(0)["opens"] >= files - (FILES_MAX - 1));
    CHECK(spool.sum("mishaps", "count") == spool.rows("files").at(0)["opens"]);
}

TEST_CASE_METHOD(Started, "of 20,000 files with sizes after Zipf the 20 with most bytes have rows, whose errors hold", "[descriptor]")
{
    const unsigned files = 20000;
    std::vector<uint64_t> bytes(files);
    uint64_t all = 0;
    /* The heavy ones come last, in pieces, between light ones. */
    for (unsigned i = 0; i < files; i++)
        all += bytes[i] = 100000000 / (files - i);
    for (unsigned i = 0; i < files; i++) {
        bool is_heavy = i >= files - 20;
        for (unsigned piece = 0; piece < (is_heavy ? 4 : 1); piece++) {
            uint64_t part = is_heavy ? bytes[i] / 4 + (piece == 0 ? bytes[i] % 4 : 0) : bytes[i];
            move_file(started, sandbox, i, (int64_t)part);
        }
        unlink(sandbox.path("f" + std::to_string(i)).c_str());
    }
    Spool spool = started.finish();
    CHECK(spool.sum("files", "write_bytes") == all);
    auto found = files_of(spool);
    uint64_t unlisted_most = found[""].error;
    CHECK(unlisted_most <= all / FILES_KEPT);
    unsigned listed = 0;
    for (unsigned i = 0; i < files; i++) {
        auto file = found.find(sandbox.path("f" + std::to_string(i)));
        if (file == found.end()) {
            REQUIRE(bytes[i] <= unlisted_most);
            REQUIRE(i < files - 20);
            continue;
        }
        listed++;
        REQUIRE(file->second.bytes <= bytes[i]);
        REQUIRE(bytes[i] <= file->second.bytes + file->second.error);
        REQUIRE(file->second.error <= all / FILES_KEPT);
    }
    CHECK(listed >= FILES_KEPT);
}

TEST_CASE_METHOD(Started, "a number of an inode that is used again, or a name, does not make two files one", "[descriptor]")
{
    for (unsigned i = 0; i < 4; i++) {
        move_file(started, sandbox, i, 1 << i);
        unlink(sandbox.path("f" + std::to_string(i)).c_str());
    }
    Spool spool = started.finish();
    auto found = files_of(spool);
    for (unsigned i = 0; i < 4; i++)
        CHECK(found[sandbox.path("f" + std::to_string(i))].bytes == 1u << i);
}

TEST_CASE_METHOD(Started, "a file that is opened by several names, or made anew, is one row", "[descriptor]")
{
    auto move = [&](const char *name, int64_t bytes) {
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        REQUIRE(fd >= 0);
        descriptor_opened(fd, AT_FDCWD, name);
        write_to(started, fd, bytes);
        descriptor_release(fd);
        close(fd);
    };
    std::string path = sandbox.path("same"), in_other_words = sandbox.path("./same");
    move(path.c_str(), 100);
    move(in_other_words.c_str(), 300);
    unlink(path.c_str());
    int unrelated = open(sandbox.path("in between").c_str(), O_WRONLY | O_CREAT, 0600); /* may take the inode */
    move(path.c_str(), 1000);
    close(unrelated);
    Spool spool = started.finish();
    unsigned rows = 0;
    for (Row &row : spool.rows("files"))
        if (row.text["path"] == path) {
            rows++;
            CHECK(row["write_bytes"] == 1400);
            CHECK(row["opens"] == 3);
        }
    CHECK(rows == 1);
}

TEST_CASE_METHOD(Started, "files of one name in directories that come and go are not one", "[descriptor]")
{
    char before[4096];
    REQUIRE(getcwd(before, sizeof before) != nullptr);
    for (unsigned i = 0; i < 4; i++) {
        std::string directory = sandbox.path("d" + std::to_string(i));
        REQUIRE(mkdir(directory.c_str(), 0700) == 0);
        REQUIRE(chdir(directory.c_str()) == 0);
        int fd = open("out", O_WRONLY | O_CREAT, 0600);
        descriptor_opened(fd, AT_FDCWD, "out");
        write_to(started, fd, 1 << i);
        descriptor_release(fd);
        close(fd);
        REQUIRE(unlink("out") == 0);
        REQUIRE(chdir(before) == 0);
        REQUIRE(rmdir(directory.c_str()) == 0);
    }
    Spool spool = started.finish();
    auto found = files_of(spool);
    for (unsigned i = 0; i < 4; i++)
        CHECK(found[sandbox.path("d" + std::to_string(i)) + "/out"].bytes == 1u << i);
}
