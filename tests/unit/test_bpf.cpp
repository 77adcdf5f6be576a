/* What BPF's sums are called: mount points by their devices, control groups by their numbers. */
#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "bpf.h"
}

static std::string mount_of(const char *mountinfo, unsigned major, unsigned minor)
{
    char name[MOVED_NAME_BYTES];
    bpf_mount_of(mountinfo, major << 20 | minor, name, sizeof name);
    return name;
}

TEST_CASE("a device has the mount point of its root, or else of a directory in it")
{
    const char *mountinfo = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                            "30 22 0:44 /inner /bound rw - tmpfs tmpfs rw\n"
                            "31 22 0:44 / /scratch\\040of\\134us rw - tmpfs tmpfs rw\n"
                            "32 22 0:45 /a /one rw - nfs4 server:/x rw\n"
                            "33 22 0:45 /b /two rw - nfs4 server:/x rw\n";
    CHECK(mount_of(mountinfo, 8, 1) == "/");
    CHECK(mount_of(mountinfo, 0, 44) == "/scratch of\\us");
    CHECK(mount_of(mountinfo, 0, 45) == "/one");
}

TEST_CASE("a device without a mount has its numbers")
{
    CHECK(mount_of("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", 8, 2) == "8:2");
    CHECK(mount_of("", 254, 3) == "254:3");
    CHECK(mount_of("22 1 8:2\n22 1 8:2 /\nrubbish\n\n", 8, 2) == "8:2");
}

TEST_CASE("a mount point that is longer than its room is cut")
{
    std::string line = "22 1 8:1 / /" + std::string(1000, 'x') + " rw - ext4 /dev/sda1 rw\n";
    CHECK(mount_of(line.c_str(), 8, 1) == "/" + std::string(MOVED_NAME_BYTES - 2, 'x'));
}

TEST_CASE("a control group is found by its number, however deep")
{
    std::string top = std::filesystem::temp_directory_path() / ("bpf" + std::to_string(getpid() % 100000));
    std::filesystem::create_directories(top + "/user/one/step");
    cgroup job = {};
    REQUIRE(top.size() < sizeof job.dir);
    strcpy(job.dir, top.c_str());
    auto number = [&](const std::string &path) {
        struct stat seen;
        REQUIRE(stat((top + path).c_str(), &seen) == 0);
        return seen.st_ino;
    };
    char path[MOVED_NAME_BYTES];
    bpf_group_path(&job, number("/user/one/step"), path, sizeof path);
    CHECK(path == std::string("/user/one/step"));
    bpf_group_path(&job, number(""), path, sizeof path);
    CHECK(path == std::string("/"));
    auto gone = number("/user/one/step");
    std::filesystem::remove(top + "/user/one/step");
    bpf_group_path(&job, gone, path, sizeof path);
    CHECK(path == std::string());
    std::filesystem::remove_all(top);
}
