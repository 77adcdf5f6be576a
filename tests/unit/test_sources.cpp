/* The node's own counters: every number that the kernel's text has, by hand, and nothing where the text is not as expected. */
#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <map>

extern "C" {
#include "node.h"
}

namespace fs = std::filesystem;

namespace
{

struct reading counted;

/* A system's root with files of a test's own, and nothing read of it yet. */
struct Root {
    Sandbox sandbox;
    Root() : path(sandbox.path("root"))
    {
        fs::create_directory(path);
        counted = {};
        counted.root = path.c_str();
    }
    void write(const std::string &name, const std::string &text) const
    {
        sandbox.write("root" + name, text);
    }
    std::string path;
};

const device *find(device_kind kind, const std::string &name)
{
    for (unsigned i = 0; i < counted.devices_used; i++)
        if (counted.devices[i].kind == kind && counted.devices[i].name == name)
            return &counted.devices[i];
    return nullptr;
}

void has(const device *device, const std::map<int, uint64_t> &expected)
{
    REQUIRE(device != nullptr);
    for (const auto &[column, value] : expected) {
        CAPTURE(device->name, column);
        CHECK(device->now[column] == value);
    }
}

void write_all(const Root &root)
{
    root.write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.10 avg300=0.60 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
    root.write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=13\n");
    root.write("/proc/pressure/io", "some avg10=0.00 avg60=0.10 avg300=0.60 total=14\nfull avg10=0.00 avg60=0.03 avg300=0.31 total=15\n");
    root.write("/proc/net/snmp", "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens OutSegs RetransSegs\nTcp: 7 500 21\nUdp: InDatagrams\nUdp: 5\n");
    root.write("/proc/net/netstat", "TcpExt: ListenOverflows ListenDrops TCPTimeouts TCPFromZeroWindowAdv TCPToZeroWindowAdv TCPWantZeroWindowAdv\n"
                                    "TcpExt: 31 32 33 34 35 36\nIpExt: InOctets\nIpExt: 9\n");
    root.write("/proc/meminfo", "MemTotal:  1000 kB\nDirty:               3 kB\nWriteback:           5 kB\nWritebackTmp:        7 kB\n");
    root.write("/proc/vmstat", "nr_free_pages 1\nworkingset_refault_anon 3\nworkingset_refault_file 5\nworkingset_activate_file 7\n");
    root.write("/proc/net/dev",
               "Inter-|   Receive  | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n"
               "    lo: 1 1 1 1 0 0 0 0 1 1 1 1 0 0 0 0\n  ib0:101 102 103 104 5 6 7 8 201 202 203 204 5 6 7 8\n");
    root.write("/proc/diskstats",
               "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0\n"
               "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    root.write("/sys/class/block/sda1/partition", "1\n");
    root.write("/proc/self/mountstats",
               "device /dev/sda1 mounted on / with fstype ext4\n"
               "device server:/home mounted on /home with fstype nfs4 statvers=1.1\n\topts:\trw\n\tage:\t5\n"
               "\tbytes:\t1000 2000 300 400 5000 6000 7 8\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 1 2 3\n\tper-op statistics\n"
               "\t        NULL: 1 1 0 44 24 0 1 2 0\n\t        READ: 10 12 1 100 200 30 40 50 0\n\t       WRITE: 20 20 0 100 200 31 41 51 0\n"
               "\t     GETATTR: 5 6 2 100 200 3 4 5 0\n\n"
               "device tmpfs mounted on /tmp with fstype tmpfs\n");
    root.write("/proc/fs/lustre/llite/scratch-ffff/stats",
               "snapshot_time 1 secs.nsecs\nread_bytes 4 samples [bytes] 10 100 210 999\nwrite_bytes 6 samples [bytes] 10 100 330 999\n"
               "read 4 samples [usecs] 1 2 6 9\nopen 3 samples [usecs] 1 2 6 9\nclose 2 samples [reqs]\n");
    root.write("/sys/kernel/debug/lustre/osc/scratch-OST0000-osc-ffff/stats",
               "req_waittime 8 samples [usec] 10 100 250 999\nread_bytes 2 samples [bytes] 1 2 77 9\nost_write 3 samples [usec] 1 2 3 4\n");
}

} // namespace

TEST_CASE("every source is read, to the number", "[sources]")
{
    Root root;
    write_all(root);
    sources_read(&counted);

    const std::map<int, uint64_t> expected = {
        { node_slices_cpu_stall_ns, 11000 },      { node_slices_memory_stall_ns, 12000 },   { node_slices_memory_full_stall_ns, 13000 },
        { node_slices_io_stall_ns, 14000 },       { node_slices_io_full_stall_ns, 15000 },  { node_slices_tcp_sent_segments, 500 },
        { node_slices_tcp_retransmissions, 21 },  { node_slices_tcp_timeouts, 33 },         { node_slices_tcp_to_zero_window, 35 },
        { node_slices_tcp_from_zero_window, 34 }, { node_slices_tcp_want_zero_window, 36 }, { node_slices_listen_overflows, 31 },
        { node_slices_listen_drops, 32 },         { node_slices_dirty_bytes, 3072 },        { node_slices_writeback_bytes, 5120 },
        { node_slices_file_refault_bytes, 5u * (uint64_t)getpagesize() },
        { node_slices_anonymous_refault_bytes, 3u * (uint64_t)getpagesize() },
    };
    for (const auto &[column, value] : expected) {
        CAPTURE(column);
        CHECK(counted.now[column] == value);
    }
    CHECK(counted.devices_used == 5);
    const device *network = find(DEVICE_network, "ib0");
    REQUIRE(network != nullptr);
    for (int i = 0; i < 4; i++) {
        CHECK(network->now[node_networks_received_bytes + i] == 101u + (unsigned)i);
        CHECK(network->now[node_networks_sent_bytes + i] == 201u + (unsigned)i);
    }
    has(find(DEVICE_block, "sda"), {
        { node_blocks_read_ops, 1 }, { node_blocks_read_bytes, 3 * 512 }, { node_blocks_read_ns, 4000000 }, { node_blocks_write_ops, 5 },
        { node_blocks_write_bytes, 7 * 512 }, { node_blocks_write_ns, 8000000 }, { node_blocks_busy_ns, 10000000 },
        { node_blocks_queue_ns, 11000000 } });
    has(find(DEVICE_nfs, "/home"), {
        { node_nfs_program_read_bytes, 1300 }, { node_nfs_program_write_bytes, 2400 }, { node_nfs_read_bytes, 5000 },
        { node_nfs_write_bytes, 6000 }, { node_nfs_read_ops, 10 }, { node_nfs_read_retransmissions, 2 }, { node_nfs_read_timeouts, 1 },
        { node_nfs_read_queue_ns, 30000000 }, { node_nfs_read_rtt_ns, 40000000 }, { node_nfs_read_execute_ns, 50000000 },
        { node_nfs_write_execute_ns, 51000000 }, { node_nfs_other_ops, 6 }, { node_nfs_other_retransmissions, 1 },
        { node_nfs_other_timeouts, 2 }, { node_nfs_other_execute_ns, 7000000 } });
    CHECK(std::string(find(DEVICE_nfs, "/home")->source) == "server:/home");
    has(find(DEVICE_lustre, "scratch-ffff"), {
        { node_lustre_read_ops, 4 }, { node_lustre_read_bytes, 210 }, { node_lustre_write_bytes, 330 }, { node_lustre_other_ops, 5 } });
    has(find(DEVICE_lustre_target, "scratch-OST0000-osc-ffff"), {
        { node_lustre_requests, 8 }, { node_lustre_wait_ns, 250000 }, { node_lustre_read_bytes, 77 }, { node_lustre_other_ops, 0 } });

    sources_read(&counted); /* cumulative counts of the same files are the same again */
    CHECK(find(DEVICE_nfs, "/home")->now[node_nfs_other_ops] == 6);
    CHECK(counted.devices_used == 5);
}

TEST_CASE("what passes an interface below a bond or a bridge is counted once", "[sources]")
{
    Root root;
    const std::string numbers = ": 1000 2 0 0 0 0 0 0 2000 3 0 0 0 0 0 0\n";
    root.write("/proc/net/dev", "Inter-|\n face |\nbond0" + numbers + "br0" + numbers + "eth0" + numbers + "eth1" + numbers);
    root.write("/sys/class/net/bond0/lower_eth0", "");
    root.write("/sys/class/net/bond0/lower_eth1", "");
    root.write("/sys/class/net/br0/lower_bond0", "");
    root.write("/sys/class/net/eth0/upper_bond0", "");
    sources_read(&counted);
    CHECK(counted.devices_used == 2);
    has(find(DEVICE_network, "eth0"), { { node_networks_received_bytes, 1000 } });
    has(find(DEVICE_network, "eth1"), { { node_networks_sent_bytes, 2000 } });
}

TEST_CASE("what is not there, or is not as expected, counts nothing", "[sources]")
{
    Root root;
    sources_read(&counted);
    for (const char *text :
         { "", "\n", "some total=", "some\nfull\n", "Tcp: A B\n", "TcpExt: ListenDrops\nTcpExt:", "eth0: 1 2 3\n", " 8 0 sda 1 2\n", ":::::\n",
           "device a mounted on", "device a mounted on b with fstype nfs4\n\tper-op statistics\n\tREAD: 1\n\tbytes: 1\n" })
        for (const char *file : { "/proc/pressure/io", "/proc/net/snmp", "/proc/net/netstat", "/proc/net/dev", "/proc/diskstats",
                                  "/proc/self/mountstats", "/proc/meminfo", "/proc/fs/lustre/osc/x/stats" }) {
            root.write(file, text);
            sources_read(&counted);
        }
    for (uint64_t value : counted.now)
        CHECK(value == 0);
    for (unsigned i = 0; i < counted.devices_used; i++)
        for (uint64_t value : counted.devices[i].now)
            CHECK(value == 0);
}

namespace
{

void write_group(const Root &root, const std::string &group, const std::string &io)
{
    std::string dir = "/sys/fs/cgroup" + group;
    root.write("/sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n");
    root.write(dir + "/io.stat", io);
    root.write(dir + "/memory.stat", "anon 1\nfile 4096\nfile_mapped 5\nfile_dirty 6\nfile_writeback 7\nworkingset_refault_anon 8\n"
                                     "workingset_refault_file 9\nworkingset_activate_file 10\npgfault 11\npgmajfault 12\n");
    root.write(dir + "/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=13\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=14\n");
    root.write(dir + "/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=15\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=16\n");
}

} // namespace

TEST_CASE("the job's control group counts by disk, from a disk's first line on", "[sources]")
{
    Root root;
    root.write("/proc/self/cgroup", "3:memory:/old/job_471\n0::/slurm/job_47/step_0\n");
    fs::create_directories(root.path + "/sys/dev/block");
    fs::create_symlink("../../devices/x/block/sda", root.path + "/sys/dev/block/8:0");
    write_group(root, "/slurm/job_47", "8:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=5 dios=6\n");
    cgroup_find(&counted.cgroup, counted.root, "", "47");
    REQUIRE(std::string(counted.cgroup.path) == "/slurm/job_47");
    sources_read(&counted);
    CHECK(counted.cgroup.missing == 0);
    const device *group = find(DEVICE_cgroup, "/slurm/job_47"), *disk = find(DEVICE_cgroup_disk, "sda");
    REQUIRE(group != nullptr);
    REQUIRE(disk != nullptr);
    std::map<column, uint64_t> memory = { { node_cgroups_file_bytes, 4096 },   { node_cgroups_dirty_bytes, 6 },
                                          { node_cgroups_writeback_bytes, 7 }, { node_cgroups_anonymous_refaults, 8 },
                                          { node_cgroups_file_refaults, 9 },   { node_cgroups_major_faults, 12 },
                                          { node_cgroups_io_stall_ns, 13000 }, { node_cgroups_io_full_stall_ns, 14000 },
                                          { node_cgroups_memory_stall_ns, 15000 } };
    for (auto &[column, value] : memory)
        CHECK(group->now[column] == value);
    CHECK(disk->now[node_cgroup_disks_read_bytes] == 100);
    CHECK(disk->now[node_cgroup_disks_write_bytes] == 200);
    CHECK(disk->now[node_cgroup_disks_read_ops] == 3);
    CHECK(disk->now[node_cgroup_disks_write_ops] == 4);
    CHECK_FALSE(disk->was_present); /* what it counted before the first reading is nobody's slice */

    write_group(root, "/slurm/job_47",
                "8:16 \n8:0 rbytes=150 wbytes=200 rios=4 wios=4 dbytes=5 dios=6\n253:1 253:0 rbytes=7 wbytes=8 rios=9 wios=1\n");
    sources_read(&counted);
    CHECK(disk->before[node_cgroup_disks_read_bytes] == 100);
    CHECK(disk->now[node_cgroup_disks_read_bytes] == 150);
    const device *later = find(DEVICE_cgroup_disk, "253:0");
    REQUIRE(later != nullptr);
    CHECK(later->was_present);
    CHECK(later->before[node_cgroup_disks_read_bytes] == 0);
    CHECK(later->now[node_cgroup_disks_read_bytes] == 7);
    CHECK(find(DEVICE_cgroup_disk, "8:16") == nullptr);

    fs::remove_all(root.path + "/sys/fs/cgroup/slurm/job_47");
    sources_read(&counted);
    CHECK(counted.cgroup.missing == (1 << CGROUP_FILES) - 1);
    CHECK_FALSE(group->is_present);
    CHECK_FALSE(disk->is_present);
}

TEST_CASE("groups with a limit that holds for the job are counted, of both versions", "[sources]")
{
    Root root;
    fs::create_directories(root.path + "/sys/dev/block");
    fs::create_symlink("../../devices/x/block/sda", root.path + "/sys/dev/block/8:0");
    root.write("/sys/fs/cgroup/cgroup.controllers", "io\n");
    root.write("/proc/7/cgroup", "12:blkio:/old/anna\n3:memory:/old/anna/x\n0::/users/anna/shell\n");
    /* Of v2 all groups above count, too: the job's own has no limit, its user's one of bytes and of reads. */
    root.write("/sys/fs/cgroup/users/anna/shell/io.max", "");
    root.write("/sys/fs/cgroup/users/anna/io.max", "8:0 rbps=1000 wbps=max riops=10 wiops=max\n");
    root.write("/sys/fs/cgroup/users/anna/io.stat", "8:0 rbytes=5000 wbytes=200 rios=3 wios=4 dbytes=5 dios=6\n8:16 rbytes=1 wbytes=1 rios=1 wios=1\n");
    /* Of v1 the process's own alone. */
    std::string v1 = "/sys/fs/cgroup/blkio/old/anna/blkio.throttle.";
    root.write("/sys/fs/cgroup/blkio/old/blkio.throttle.write_bps_device", "8:0 1\n");
    root.write(v1 + "write_bps_device", "8:16 500\n");
    root.write(v1 + "io_service_bytes", "8:16 Read 10\n8:16 Write 100\n8:16 Total 110\n8:0 Read 7\nTotal 117\n");
    root.write(v1 + "io_serviced", "8:16 Read 1\n8:16 Write 2\nTotal 3\n");
    limits_meet_one(&counted.limits, counted.root, 7);
    limits_meet_one(&counted.limits, counted.root, 7);
    limits_meet_one(&counted.limits, counted.root, 8); /* it has ended */
    sources_read(&counted);
    const device *users = find(DEVICE_limit, "sda in /users/anna"), *old = find(DEVICE_limit, "8:16 in /old/anna");
    REQUIRE(users != nullptr);
    REQUIRE(old != nullptr);
    CHECK(counted.devices_used == 2);
    CHECK(counted.limits.used == 4);
    CHECK_FALSE(users->was_present); /* what it counted before the first reading is nobody's slice */

    root.write("/sys/fs/cgroup/users/anna/io.stat", "8:0 rbytes=5500 wbytes=900 rios=11 wios=4\n");
    root.write(v1 + "io_service_bytes", "8:16 Read 10\n8:16 Write 350\n8:16 Total 360\n");
    sources_read(&counted);
    CHECK(users->was_present);
    CHECK(users->now[node_limits_read_bytes] - users->before[node_limits_read_bytes] == 500);
    CHECK(users->now[node_limits_write_bytes] - users->before[node_limits_write_bytes] == 700);
    /* 500 bytes take half a second, and 8 reads 0.8 s. */
    CHECK(users->now[node_limits_at_limit_ns] - users->before[node_limits_at_limit_ns] == 800000000);
    CHECK(old->now[node_limits_write_bytes] - old->before[node_limits_write_bytes] == 250);
    CHECK(old->now[node_limits_at_limit_ns] - old->before[node_limits_at_limit_ns] == 500000000);

    root.write("/sys/fs/cgroup/users/anna/io.max", "");
    sources_read(&counted);
    CHECK_FALSE(users->is_present);
    CHECK(old->is_present);
}

TEST_CASE("a limit of version 1's root counts what the disk did, not what waits for its turn", "[sources]")
{
    Root root;
    struct reading counted = { .root = root.path.c_str() };
    std::string v1 = "/sys/fs/cgroup/blkio/blkio.throttle.";
    root.write("/proc/7/cgroup", "12:blkio:/\n0::/\n");
    root.write(v1 + "write_bps_device", "7:0 1024\n");
    root.write(v1 + "io_service_bytes", "7:0 Read 0\n7:0 Write 1000000\n");
    root.write("/sys/dev/block/7:0/stat", "       4        0        8        0        6        0        2        1        0        1        1\n");
    limits_meet_one(&counted.limits, counted.root, 7);
    REQUIRE(counted.limits.used == 1); /* of version 2 the root has none */
    struct limited_disk disks[LIMIT_DISKS];
    REQUIRE(limits_read(&counted.limits.groups[0], counted.root, disks) == 1);
    const uint64_t done[] = { 8 * 512, 2 * 512, 4, 6 }, limits[] = { 0, 1024, 0, 0 };
    CHECK(std::equal(done, done + 4, disks[0].done));
    CHECK(std::equal(limits, limits + 4, disks[0].a_second));
}

TEST_CASE("a control group is sampled where one is named, of cgroup v2 alone", "[sources]")
{
    Root root;
    struct cgroup cgroup;
    auto found = [&](const char *wanted, const char *job) {
        cgroup_find(&cgroup, root.path.c_str(), wanted, job);
        return std::string(cgroup.dir) + ":" + cgroup.path;
    };
    root.write("/proc/self/cgroup", "3:memory:/slurm/job_47\n0::/user.slice/a.scope\n");
    CHECK(found("own", "47") == ":");
    root.write("/sys/fs/cgroup/unified/cgroup.controllers", "\n");
    CHECK(found("own", "47") == "/sys/fs/cgroup/unified:/user.slice/a.scope");
    CHECK(found("/given", nullptr) == "/sys/fs/cgroup/unified:/given");
    CHECK(found("given", "47") == "/sys/fs/cgroup/unified:");
    CHECK(found("", "47") == "/sys/fs/cgroup/unified:");
    CHECK(found("", nullptr) == "/sys/fs/cgroup/unified:");
    CHECK(found((std::string("/") + std::string(2000, 'x')).c_str(), nullptr) == "/sys/fs/cgroup/unified:");
    root.write("/sys/fs/cgroup/cgroup.controllers", "io\n");
    CHECK(found("own", nullptr) == "/sys/fs/cgroup:/user.slice/a.scope");
}

TEST_CASE("samples are what came since, in the slice where that began", "[node]")
{
    Root root;
    const Sandbox &sandbox = root.sandbox;
    static struct node node;
    struct settings settings = {};
    std::string dir = sandbox.path(), segments = sandbox.path();
    settings.dir = dir.c_str();
    settings.job = "job";
    settings.storage_ports = "";
    settings.cgroup = "";
    settings.segment_dir = segments.c_str();
    settings.slice_ns = 4000000000;
    fake_system.has_clock = true;
    fake_system.realtime_ns = 1001 * NS_PER_SECOND;
    fake_system.monotonic_ns = 500 * NS_PER_SECOND;
    write_all(root);
    settings.cgroup = "/job";
    write_group(root, "/job", "");
    REQUIRE(node_begin(&node, root.path.c_str(), &settings, "job", 0, 0) == 0);
    char path[1100];
    spool_path(path, sizeof path, node.home.segment);
    auto pass = [](uint64_t seconds) {
        fake_system.realtime_ns += seconds * NS_PER_SECOND;
        fake_system.monotonic_ns += seconds * NS_PER_SECOND;
    };
    auto turn = [&] { node_sample(&node, fake_system.realtime_ns); };

    pass(3);
    root.write("/proc/pressure/io", "some avg10=0 total=114\nfull avg10=0 total=25\n");
    root.write("/proc/diskstats", "   8       0 sda 2 2 5 4 5 6 7 8 9 10 11 12\n   8 16 sdb 9 9 9 9 9 9 9 9 9 9 9 9\n");
    write_group(root, "/job", "8:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=5 dios=6\n");
    turn();
    pass(9); /* late by more than a slice */
    root.write("/proc/diskstats", "   8       0 sda 2 2 5 4 5 6 7 8 9 10 11 12\n   8 16 sdb 10 9 9 9 9 9 9 9 9 9 9 9\n");
    turn();
    fake_system.realtime_ns -= 10 * NS_PER_SECOND; /* somebody sets the clock */
    pass(4);
    root.write("/proc/pressure/io", "some avg10=0 total=5\nfull avg10=0 total=0\n"); /* begun anew */
    turn();
    CHECK_FALSE(fs::exists(path)); /* there is no process, and so no profile */
    CHECK(node_drain(&node) == 0);
    CHECK_FALSE(fs::exists(path));

    fs::create_directories(fs::path(path).parent_path());
    fclose(fopen(path, "w"));
    std::string segment = node.home.path;
    CHECK(node_end(&node) == 0);
    CHECK_FALSE(fs::exists(segment));
    Spool spool = read_spool(path);
    CHECK(spool.is_gapless());
    auto slices = spool.rows("node_slices");
    REQUIRE(slices.size() == 4);
    CHECK(slices[0]["slice"] == 250);
    CHECK(slices[0]["sampled_ns"] == 3 * NS_PER_SECOND);
    CHECK(slices[0]["io_stall_ns"] == 100000);
    CHECK(slices[0]["io_full_stall_ns"] == 10000);
    auto disks = spool.rows("node_cgroup_disks"), groups = spool.rows("node_cgroups");
    REQUIRE(disks.size() == 1);
    CHECK(disks[0]["slice"] == 250);
    CHECK(disks[0]["read_bytes"] == 100);
    CHECK(disks[0]["write_ops"] == 4);
    REQUIRE(groups.size() == 4); /* its page cache, as it stood */
    CHECK(groups[0]["file_bytes"] == 4096);
    CHECK(groups[0]["major_faults"] == 0);
    CHECK(slices[0]["tcp_timeouts"] == 0);
    CHECK(slices[0]["dirty_bytes"] == 3072);
    CHECK(slices[1]["slice"] == 251);
    CHECK(slices[1]["sampled_ns"] == 9 * NS_PER_SECOND);
    CHECK(slices[2]["slice"] == 253);
    CHECK(slices[2]["sampled_ns"] == 4 * NS_PER_SECOND);
    CHECK(slices[2]["io_stall_ns"] == 5000);
    auto blocks = spool.rows("node_blocks");
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0]["read_ops"] == 1);
    CHECK(blocks[0]["read_bytes"] == 1024);
    CHECK(blocks[1]["read_ops"] == 1); /* the new disk's count from its second sample on: nobody knows when the first began */
    CHECK(blocks[0]["device"] != blocks[1]["device"]);
    std::map<uint64_t, std::string> names;
    for (auto &device : spool.rows("node_devices"))
        names[device["device"]] = device.text["name"];
    CHECK(names.size() == 8);
    CHECK(names[blocks[0]["device"]] == "sda");
    CHECK(names[blocks[1]["device"]] == "sdb");
    auto run = spool.rows("nodes").back();
    CHECK(run["slice_ns"] == 4000000000);
    CHECK(run["start_ns"] == 1001 * NS_PER_SECOND);
    CHECK(spool.rows("processes").empty());
    segment_unmap(&node.home);
    visits_end(&node.visits);
}

TEST_CASE("a killed collector's samples are drained by whoever comes next, and a full disk delays them", "[node]")
{
    Root root;
    const Sandbox &sandbox = root.sandbox;
    static struct node node;
    struct settings settings = {};
    std::string dir = sandbox.path();
    settings.dir = settings.segment_dir = dir.c_str();
    settings.job = "job";
    settings.storage_ports = "";
    settings.cgroup = "";
    settings.slice_ns = 1000000000;
    fake_system.has_clock = true;
    fake_system.realtime_ns = 1000 * NS_PER_SECOND;
    write_all(root);
    REQUIRE(node_begin(&node, root.path.c_str(), &settings, "job", 0, 0) == 0);
    char path[1100];
    spool_path(path, sizeof path, node.home.segment);
    fs::create_directories(fs::path(path).parent_path());
    fclose(fopen(path, "w"));
    fake_system.is_disk_full = true;
    uint64_t stalled = 15, turns = 0;
    while (node.samples_late < 5 && turns++ < 50000) {
        fake_system.realtime_ns += NS_PER_SECOND;
        fake_system.monotonic_ns += NS_PER_SECOND;
        stalled += 7 * turns * turns;
        root.write("/proc/pressure/io", "some avg10=0 total=14\nfull avg10=0 total=" + std::to_string(stalled) + "\n");
        node_sample(&node, fake_system.realtime_ns);
    }
    CHECK(node.samples_late == 5);
    fake_system.is_disk_full = false;
    fake_system.realtime_ns += NS_PER_SECOND;
    fake_system.monotonic_ns += NS_PER_SECOND;
    node_sample(&node, fake_system.realtime_ns);
    std::string segment = node.home.path;
    node.home.segment->pid = dead_pid();
    segment_unmap(&node.home);
    visits_end(&node.visits);
    CHECK(adopt_segment(segment.c_str(), "").outcome == ADOPTED);
    Spool spool = read_spool(path);
    CHECK(spool.is_gapless());
    CHECK(spool.rows("processes").empty());
    CHECK(spool.sum("node_slices", "io_full_stall_ns") == 1000 * (stalled - 15));
    CHECK(spool.sum("node_slices", "sampled_ns") == (turns + 1) * NS_PER_SECOND);
    CHECK(spool.rows("nodes").back()["samples_late"] == 5);
}
