#include "catch.h"
#include "sandbox.h"

#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace {

const char mountinfo[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "23 22 0:21 / /dev/shm rw shared:2 - tmpfs tmpfs rw\n"
    "30 22 0:44 / /scratch rw,noatime shared:5 master:7 propagate_from:2 - lustre 10.0.0.1@tcp:/scratch rw,flock\n"
    "31 22 8:1 /var/data /data rw - ext4 /dev/sda1 rw\n"                         /* a bind mount: the root's device */
    "32 22 0:50 / /mnt/with\\040space\\134and\\011tab rw - nfs4 server:/a\\040b rw,vers=4.2,clientaddr=10.0.0.9,mountaddr=10.0.0.8,addr=10.0.0.1,lock\n"
    "33 22 0:60 / /var/lib/containers/overlay/merged rw - overlay overlay rw,lowerdir=/l\n"
    "34 30 0:45 / /scratch/project rw - lustre 10.0.0.2@tcp:/project rw,addr=10.0.0.7\n"
    "35 22 0:70 / /hidden rw - tmpfs below rw\n"
    "36 35 0:71 / /hidden rw - tmpfs above rw\n"
    "38 22 0:90 / /n4 rw - nfs4 files:/scratch rw,addr=10.0.0.1\n"
    "39 22 0:90 / /h2 rw - nfs4 files:/home rw,addr=10.0.0.1\n" /* of one file system of the server: one st_dev */
    "40 22 0:91 / /b rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf\n"
    "41 22 0:92 / /b2 rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/b2.conf,sysMgmtdHost=10.0.0.8,connPortShift=9\n"
    "this line is none\n"
    "37 22 0:80 / /last rw - tmpfs last rw";

struct Mounts {
    Sandbox sandbox;
    std::string list = sandbox.write("mountinfo", mountinfo);
    Segment segment{ sandbox };

    Mounts()
    {
        fake_system.mountinfo = list.c_str();
        mount_start(&segment.home);
        /* The list is read again when an unknown device turns up: at least once, for an earlier test left its own. */
        mount_enter(&segment.home, OBJECT_file, makedev(0, 80), 0, nullptr);
    }

    std::string text(uint32_t mount, enum column column)
    {
        return segment_text(segment.home.segment, segment->mounts[mount][column]);
    }
    /* That of a device which no mount has. */
    uint32_t enter(const char *path) { return mount_enter(&segment.home, OBJECT_file, makedev(1, next_device++), 0, path); }
    std::string point_of(const char *path) { return text(enter(path), mounts_point); }

    unsigned next_device = 1;
};

} // namespace

TEST_CASE("a path belongs to the longest mount point that it begins with", "[mount]")
{
    Mounts mounts;
    CHECK(mounts.point_of("/scratch/a") == "/scratch");
    CHECK(mounts.point_of("/scratch") == "/scratch");
    CHECK(mounts.point_of("/scratch/project/a") == "/scratch/project");
    CHECK(mounts.point_of("/scratch/projects/a") == "/scratch");
    CHECK(mounts.point_of("/scratchy") == "/");
    CHECK(mounts.point_of("/") == "/");
    CHECK(mounts.point_of("/var/lib/containers/overlay/merged/etc") == "/var/lib/containers/overlay/merged");
    CHECK(mounts.point_of("/last/line/without/an/end") == "/last");
}

TEST_CASE("type and source are the list's, its octal escapes undone, optional tags passed over", "[mount]")
{
    Mounts mounts;
    uint32_t scratch = mount_enter(&mounts.segment.home, OBJECT_file, makedev(0, 44), 0, "/scratch/x");
    CHECK(mounts.text(scratch, mounts_type) == "lustre");
    CHECK(mounts.text(scratch, mounts_source) == "10.0.0.1@tcp:/scratch");
    CHECK(mounts.segment->mounts[scratch][mounts_device] == makedev(0, 44));
    CHECK(mounts.segment->mounts[scratch][mounts_object] == OBJECT_file);

    uint32_t escaped = mounts.enter("/mnt/with space\\and\ttab/file");
    CHECK(mounts.text(escaped, mounts_point) == "/mnt/with space\\and\ttab");
    CHECK(mounts.text(escaped, mounts_source) == "server:/a b");
    CHECK(mounts.text(escaped, mounts_address) == "10.0.0.1");
    CHECK(mounts.text(mounts.enter("/scratch/project/a"), mounts_address).empty());
}

TEST_CASE("mounts of BeeGFS, which have one source, have who manages them", "[mount]")
{
    Mounts mounts;
    CHECK(mounts.text(mounts.enter("/b/a"), mounts_address) == "/etc/beegfs/beegfs-client.conf");
    CHECK(mounts.text(mounts.enter("/b2/a"), mounts_address) == "10.0.0.8");
}

TEST_CASE("of two mounts at one point the later one is seen", "[mount]")
{
    Mounts mounts;
    CHECK(mounts.text(mounts.enter("/hidden/x"), mounts_source) == "above");
}

TEST_CASE("a bind mount is the same file system: one mount in the profile", "[mount]")
{
    Mounts mounts;
    uint32_t root = mount_enter(&mounts.segment.home, OBJECT_file, makedev(8, 1), 0, "/etc");
    CHECK(mounts.text(root, mounts_point) == "/");
    CHECK(mount_enter(&mounts.segment.home, OBJECT_file, makedev(8, 1), 0, "/data/x") == root);
}

TEST_CASE("mounts of one NFS server are told apart where they have one st_dev", "[mount]")
{
    Mounts mounts;
    struct segment_home *home = &mounts.segment.home;
    const uint64_t device = makedev(0, 90);
    uint32_t scratch = mount_enter(home, OBJECT_file, device, 38, "/n4/a"), homes = mount_enter(home, OBJECT_file, device, 39, "/a/link/to/b");
    CHECK(mounts.text(scratch, mounts_point) == "/n4");
    CHECK(mounts.text(homes, mounts_point) == "/h2");
    CHECK(mounts.text(homes, mounts_source) == "files:/home");
    CHECK(mount_find_seen(home->segment, OBJECT_file, device, 39) == homes);
    CHECK(mount_find_seen(home->segment, OBJECT_file, device, 38) == scratch);
    CHECK(mount_find_seen(home->segment, OBJECT_file, device, 0) == scratch); /* a kernel that does not say */
    CHECK(mount_find_seen(home->segment, OBJECT_file, device, 55) == MOUNT_NOT_KNOWN);
    CHECK(mount_enter(home, OBJECT_file, device, 55, "/h2/c") == homes); /* unmounted, and mounted again */
    CHECK(mount_find_seen(home->segment, OBJECT_file, device, 55) == homes);
}

TEST_CASE("a device that no mount has is looked for by path, or has no name; memory files are no files", "[mount]")
{
    Mounts mounts;
    uint32_t subvolume = mount_enter(&mounts.segment.home, OBJECT_file, makedev(0, 999), 0, "/scratch/subvolume/file");
    CHECK(mounts.text(subvolume, mounts_point) == "/scratch");
    CHECK(mounts.segment->mounts[subvolume][mounts_device] == makedev(0, 999));
    CHECK(mounts.segment->mounts[mount_enter(&mounts.segment.home, OBJECT_file, makedev(0, 998), 0, nullptr)][mounts_object] == OBJECT_file);
    CHECK(mount_enter(&mounts.segment.home, OBJECT_file, makedev(0, 997), 0, "/memfd:name (deleted)") == MOUNT_OTHER);
}

TEST_CASE("a subvolume is on the mount whose root it is", "[mount]")
{
    Mounts mounts;
    struct stat shm, proc;
    REQUIRE((stat("/dev/shm", &shm) == 0 && stat("/proc", &proc) == 0));
    REQUIRE((major(shm.st_dev) == 0 && major(proc.st_dev) == 0)); /* as subvolumes have it */
    const std::string one = "50 22 0:900 / /dev/shm rw - btrfs /dev/sdb rw\n", other = "51 22 0:901 / /proc rw - btrfs /dev/sdc rw\n";
    const std::string list = mounts.sandbox.write("subvolumes", one + other);
    fake_system.mountinfo = list.c_str();
    auto source_of = [&](dev_t device) { return mounts.text(mount_enter(&mounts.segment.home, OBJECT_file, device, 0, nullptr), mounts_source); };
    CHECK(source_of(shm.st_dev) == "/dev/sdb");
    CHECK(source_of(proc.st_dev) == "/dev/sdc");
    CHECK(source_of(makedev(0, 996)) == "");
}

TEST_CASE("pipes, sockets and devices have one mount each, whatever their st_dev", "[mount]")
{
    Mounts mounts;
    uint32_t pipe = mount_enter(&mounts.segment.home, OBJECT_pipe, 13, 0, nullptr);
    CHECK(mount_enter(&mounts.segment.home, OBJECT_pipe, 14, 0, nullptr) == pipe);
    CHECK(mount_enter(&mounts.segment.home, OBJECT_socket, 13, 0, nullptr) != pipe);
    CHECK(mount_find_seen(mounts.segment.home.segment, OBJECT_pipe, 99, 0) == pipe);
    CHECK(mount_find_seen(mounts.segment.home.segment, OBJECT_device, 0, 0) == MOUNT_NOT_KNOWN);
}

TEST_CASE("a full table counts as other, and says so", "[mount]")
{
    Mounts mounts;
    for (uint64_t device = 2000; mounts.segment->mounts_used < MOUNTS_MAX; device++)
        mount_enter(&mounts.segment.home, OBJECT_file, device, 0, "/scratch/x");
    CHECK(mounts.segment->problems[PROBLEM_mounts_full] == 0);
    CHECK(mount_enter(&mounts.segment.home, OBJECT_file, 12345, 0, "/scratch/x") == MOUNT_OTHER);
    CHECK(mounts.segment->problems[PROBLEM_mounts_full] == 1);
}

TEST_CASE("what st_mode says a thing is", "[mount]")
{
    CHECK(object_of_mode(S_IFREG | 0644) == OBJECT_file);
    CHECK(object_of_mode(S_IFDIR) == OBJECT_file);
    CHECK(object_of_mode(S_IFCHR) == OBJECT_device);
    CHECK(object_of_mode(S_IFBLK) == OBJECT_device);
    CHECK(object_of_mode(S_IFIFO) == OBJECT_pipe);
    CHECK(object_of_mode(S_IFSOCK) == OBJECT_socket);
    CHECK(object_of_mode(0) == OBJECT_other);
}

TEST_CASE("what the kernel says of one mount alone is what its list says", "[mount]")
{
    Sandbox sandbox;
    Segment alone{ sandbox }, listed{ sandbox };
    auto mount_of = [](Segment &segment, uint32_t mount) {
        auto text = [&](enum column column) { return std::string(segment_text(segment.home.segment, segment->mounts[mount][column])); };
        return text(mounts_point) + " " + text(mounts_type) + " " + text(mounts_source);
    };
    mount_start(&alone.home);
    mount_start(&listed.home);
    std::ifstream file("/proc/self/mountinfo");
    const std::string list{ std::istreambuf_iterator<char>(file), {} };
    int told = 0;
    for (const char *path : { "/", "/proc", "/dev", "/dev/shm", "/sys" }) {
        struct statx status;
        if (raw_statx(AT_FDCWD, path, 0, &status) < 0 || (status.stx_mask & STATX_MNT_ID_UNIQUE) == 0)
            continue;
        uint32_t seen = mount_enter_seen(&alone.home, &status);
        if (seen == MOUNT_NOT_KNOWN)
            continue;
        told++;
        uint64_t device = makedev(status.stx_dev_major, status.stx_dev_minor);
        CHECK(mount_of(alone, seen) == mount_of(listed, mount_enter(&listed.home, OBJECT_file, device, 0, path)));
        struct one_mount room;
        const char *options = statmount_options(&status, &room);
        if (options != nullptr) /* since Linux 6.11 */
            CHECK(list.find(std::string(options) + "\n") != std::string::npos);
        CHECK(alone->mounts[seen][mounts_object] == listed->mounts[mount_find_seen(listed.home.segment, OBJECT_file, device, 0)][mounts_object]);
    }
    if (told == 0)
        WARN("this kernel tells of no mount alone");
}

namespace {

/* A sysfs with a disk of two partitions, on one of which there is an encrypted volume of two others, and a RAID of two disks with a volume. */
struct Devices {
    Sandbox sandbox;

    Devices()
    {
        add("sda", "8:0", {});
        add("sda2", "8:2", {});
        add("dm-0", "253:0", { "sda2" });
        add("dm-1", "253:1", { "dm-0" });
        add("md127", "9:127", { "sdb", "sdc" });
        add("dm-2", "253:2", { "md127" });
        add("ram0", "1:0", {}, "0 0 0 0 0");
        add("dm-3", "253:3", { "ram0" });
    }

    void add(const std::string &name, const std::string &numbers, const std::vector<std::string> &parts, const std::string &counts = "7 0 56 1 0")
    {
        std::filesystem::path own = sandbox.path("class/block/" + name);
        std::filesystem::create_directories(own / "slaves");
        std::filesystem::create_directories(sandbox.path("dev/block"));
        for (const std::string &part : parts)
            std::ofstream(own / "slaves" / part);
        std::ofstream(own / "stat") << counts << "\n";
        std::filesystem::create_symlink("../../class/block/" + name, sandbox.path("dev/block/" + numbers));
    }
    std::string disk(unsigned major_number, unsigned minor_number) const
    {
        char name[DISK_NAME_BYTES];
        return volume_disk(sandbox.path().c_str(), "/dev/mapper/no such volume", makedev(major_number, minor_number), name);
    }
};

} // namespace

TEST_CASE("a volume is on the disk beneath, as far down as one device is made of one", "[mount]")
{
    Devices devices;
    CHECK(devices.disk(253, 1) == "sda2");
    CHECK(devices.disk(8, 2) == "sda2"); /* as /dev/root may be */
    CHECK(devices.disk(253, 2) == "md127");
    CHECK(devices.disk(253, 3) == ""); /* what is beneath counts nothing */
    devices.add("dm-5", "253:5", { "sda", "sdb" });
    CHECK(devices.disk(253, 5) == "");
    CHECK(devices.disk(253, 9) == "");
    devices.add("dm-4", "253:4", { "dm-4" }); /* a circle, as no kernel makes one */
    CHECK(devices.disk(253, 4) == "");

    for (const char *source : { "/dev/mapper/home", "/dev/dm-0", "/dev/root", "/dev/md/name", "/dev/disk/by-uuid/1" })
        CHECK(volume_is(source));
    for (const char *source : { "/dev/sda1", "/dev/rootless", "server:/dev/mapper/home", "tmpfs", "", "/dev" })
        CHECK_FALSE(volume_is(source));
}
