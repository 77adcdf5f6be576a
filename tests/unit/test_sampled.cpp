/* Processes without a segment, as /proc shows them: whose they are, what becomes a row and in which slice, and what never does. */
#include "catch.h"
#include "sandbox.h"

#include <map>
#include <memory>

extern "C" {
#include "sampled.h"
}

namespace fs = std::filesystem;

namespace {

constexpr uint64_t SECOND = 1000000000, MIB = 1 << 20;
constexpr uint64_t BEGIN = 1000 * SECOND; /* when the collector begins; the node was started 1000 s before */
constexpr uint32_t LAUNCHER = 500;

struct Process {
    uint32_t parent = 1, session = 1;
    uint64_t start_seconds = 0; /* since the collector began; less than 0 is not needed */
    uint64_t read = 0, written = 0;
    bool has_reaped = false;
    std::string program = "/opt/copy";
    uint64_t own_written = 0; /* by its living threads, where it has reaped children */
    unsigned flags = 0;
    uint64_t fetched = 0; /* from storage; half of what is written goes there */
};

struct Descriptor {
    unsigned number, mount;
    const char *flags; /* octal */
    uint64_t position, inode;
};

/* A node's /proc, where the job's launcher is, and the collector's view of it. */
struct Proc {
    Sandbox sandbox;
    explicit Proc(const char *scheduler_job = nullptr)
        : root(sandbox.path("root")), home(sandbox), sampled(new struct sampled()), profiled(new struct profiled())
    {
        fs::create_directories(root + "/proc");
        fake_system.has_clock = true;
        fake_system.realtime_ns = fake_system.monotonic_ns = BEGIN;
        if (scheduler_job != nullptr)
            sandbox.write("root/proc/self/cgroup", std::string("0::/system.slice/slurmstepd.scope/job_") + scheduler_job + "/step_0/user\n");
        REQUIRE(sampled_begin(sampled.get(), root.c_str(), SECOND, LAUNCHER, scheduler_job) == 0);
        sampled_look(sampled.get(), profiled.get()); /* there is nobody yet */
        show(LAUNCHER, {});
    }

    void show(uint32_t pid, const Process &process) const
    {
        std::string dir = "root/proc/" + std::to_string(pid), id = std::to_string(pid);
        auto io = [&process](uint64_t read, uint64_t written) {
            return "rchar: " + std::to_string(read) + "\nwchar: " + std::to_string(written) + "\nsyscr: 1\nsyscw: 2\nread_bytes: " +
                   std::to_string(process.fetched) + "\nwrite_bytes: " + std::to_string(written / 2) + "\ncancelled_write_bytes: 0\n";
        };
        sandbox.write(dir + "/stat", id + " (odd ) name) S " + std::to_string(process.parent) + " 1 " + std::to_string(process.session) + " 0 -1 " +
                                 std::to_string(process.flags) + " 9 " + (process.has_reaped ? "7" : "0") + " 0 0 3 4 0 0 20 0 1 0 " +
                                 std::to_string((BEGIN / SECOND + process.start_seconds) * 100) + " 0 0\n");
        sandbox.write(dir + "/io", io(process.read, process.written));
        sandbox.write(dir + "/task/" + id + "/io", io(process.read, process.has_reaped ? process.own_written : process.written));
        sandbox.write(dir + "/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t" + id + "\t2\n");
        fs::remove(sandbox.path(dir + "/exe"));
        fs::create_symlink(process.program, sandbox.path(dir + "/exe"));
    }
    /* Its open files, on /data (30), /home (31) and /dev/shm (32), which has no storage behind it; 9 is of sockets. */
    void opens(uint32_t pid, const std::vector<Descriptor> &descriptors) const
    {
        std::string dir = "root/proc/" + std::to_string(pid);
        for (const char *files : { "/fd", "/fdinfo" })
            fs::remove_all(sandbox.path(dir + files));
        sandbox.write(dir + "/mountinfo", "30 1 8:1 / /data rw shared:1 - nfs4 server:/export rw,addr=10.0.0.1\n"
                                          "31 1 8:2 / /home rw - ext4 /dev/sda2 rw\n32 1 0:9 / /dev/shm rw - tmpfs tmpfs rw\n");
        for (const Descriptor &one : descriptors) {
            std::string number = std::to_string(one.number);
            sandbox.write(dir + "/fd/" + number, "");
            sandbox.write(dir + "/fdinfo/" + number, "pos:\t" + std::to_string(one.position) + "\nflags:\t" + one.flags + "\nmnt_id:\t" +
                                                         std::to_string(one.mount) + "\nino:\t" + std::to_string(one.inode) + "\n");
        }
    }
    void end(uint32_t pid) const { fs::remove_all(root + "/proc/" + std::to_string(pid)); }
    void look(double seconds) const
    {
        fake_system.realtime_ns = fake_system.monotonic_ns = BEGIN + (uint64_t)(seconds * 1e9);
        sampled_look(sampled.get(), profiled.get());
    }
    /* A look, the visits after it, and the rows. */
    void turn(double seconds)
    {
        static struct sample sample;
        look(seconds);
        sampled_settle(sampled.get(), profiled.get());
        sample_begin(&sample);
        sampled_add_rows(sampled.get(), &home.home, &sample);
        if (sample.words[0] > 1)
            REQUIRE(samples_append(&home.home, &sample) == 0);
        sampled_are_kept(sampled.get());
    }
    /* The same after process 40 has become so, or has these files open, too. */
    void turn(double seconds, const Process &process)
    {
        show(40, process);
        turn(seconds);
    }
    void turn(double seconds, const Process &process, const std::vector<Descriptor> &open)
    {
        opens(40, open);
        turn(seconds, process);
    }
    void has_segment(uint32_t pid) const
    {
        profiled->of[profiled->used].pid = pid;
        profiled->of[profiled->used++].pid_namespace = sampled->belonging.pid_namespace;
    }
    Spool finished()
    {
        sampled_end(sampled.get());
        home->is_of_node = home->is_last_packed = 1;
        REQUIRE(segment_finish(&home.home, ENDING_exit, 1, 0) == 0);
        return read_spool(home.spool);
    }
    /* MiB that the one process read from and wrote to storage, by mount point. */
    std::map<std::string, std::pair<uint64_t, uint64_t>> places()
    {
        Spool spool = finished();
        std::map<uint64_t, std::string> points;
        std::map<std::string, std::pair<uint64_t, uint64_t>> found;
        for (auto &row : spool.rows("node_mounts")) {
            points[row["mount"]] = row.text["point"];
            is_named &= row.text["point"] != "/data" || (row.text["type"] == "nfs4" && row.text["source"] == "server:/export" &&
                                                         row.text["address"] == "10.0.0.1");
        }
        for (auto &row : spool.rows("node_process_mounts")) {
            found[points[row["mount"]]].first += row["read_bytes"] / MIB;
            found[points[row["mount"]]].second += row["write_bytes"] / MIB;
        }
        return found;
    }
    bool is_named = true; /* as of profiled processes, once `places` was asked */
    /* Bytes written by program and slice, counted from the collector's beginning. */
    std::map<std::string, std::map<uint64_t, uint64_t>> written()
    {
        Spool spool = finished();
        std::map<uint64_t, std::string> names;
        std::map<std::string, std::map<uint64_t, uint64_t>> found;
        for (auto &row : spool.rows("node_processes"))
            names[row["number"]] = row.text["program"];
        for (auto &row : spool.rows("node_process_slices"))
            found[names[row["number"]]][row["slice"] - BEGIN / SECOND] += row["write_bytes"];
        for (auto &row : spool.rows("node_process_slices"))
            unsure_ns[row["slice"] - BEGIN / SECOND] += row["unsure_ns"];
        return found;
    }
    std::map<uint64_t, uint64_t> unsure_ns; /* by slice, once `written` was asked */

    std::string root;
    Segment home;
    std::unique_ptr<struct sampled> sampled;
    std::unique_ptr<struct profiled> profiled;
};

using Written = std::map<std::string, std::map<uint64_t, uint64_t>>;
using Places = std::map<std::string, std::pair<uint64_t, uint64_t>>;
constexpr const char *READS = "0100000", *WRITES = "0100001", *BOTH = "0100002", *APPENDS = "0102001";

} // namespace

TEST_CASE("what a process did since it began lies in the slices in which it was, by time", "[sampled]")
{
    Proc proc;
    Process copy = { .parent = LAUNCHER, .start_seconds = 1, .written = 2 * MIB };
    proc.turn(3, copy); /* from 1 s to 3 s: half in either slice */
    copy.written += MIB;
    proc.show(40, copy);
    proc.look(3.5);
    copy.written += 2 * MIB;
    proc.turn(4.5, copy); /* a second, over two slices */
    proc.end(40);
    proc.turn(5);
    CHECK(proc.written() == Written{ { "/opt/copy", { { 1, MIB }, { 2, MIB }, { 3, 2 * MIB }, { 4, MIB } } } });
}

TEST_CASE("a look that comes late says how far from the slice's edge it was, and one that took long too", "[sampled]")
{
    Proc proc;
    Process copy = { .parent = LAUNCHER, .start_seconds = 1, .written = MIB };
    proc.turn(1.9, copy);
    copy.written += MIB;
    proc.turn(2.3, copy); /* the edge at 2 s is 0.1 s after the look before it, and 0.3 s before this one */
    copy.written += MIB;
    proc.turn(3.1, copy);
    proc.end(40);
    proc.turn(4);
    CHECK(proc.written()["/opt/copy"].size() == 3);
    CHECK(proc.unsure_ns == std::map<uint64_t, uint64_t>{ { 1, SECOND / 10 }, { 2, SECOND / 5 }, { 3, SECOND / 10 } });
}

TEST_CASE("a process that lives for one round has rows, and one that moves next to nothing has none", "[sampled]")
{
    Proc proc;
    proc.show(40, { .parent = LAUNCHER, .start_seconds = 1, .written = MIB });
    proc.show(41, { .parent = LAUNCHER, .start_seconds = 1, .written = 1000, .program = "/bin/little" });
    proc.turn(2);
    proc.end(40);
    proc.turn(3);
    proc.turn(4);
    CHECK(proc.written() == Written{ { "/opt/copy", { { 1, MIB } } } });
}

TEST_CASE("another run of the same name, in another directory, has nothing of this job", "[sampled]")
{
    Proc proc;
    proc.show(700, { .parent = 1 });
    bool is_elsewhere = GENERATE(false, true);
    proc.has_segment(700);
    proc.profiled->of[0].is_elsewhere = is_elsewhere;
    proc.show(701, { .parent = 700, .start_seconds = 1, .written = MIB });
    for (int seconds = 2; seconds < 5; seconds++)
        proc.turn(seconds);
    CHECK(proc.written() == (is_elsewhere ? Written{} : Written{ { "/opt/copy", { { 1, MIB } } } }));
}

TEST_CASE("whose segment comes to light is no longer sampled, and what was pending goes", "[sampled]")
{
    Proc proc;
    Process late = { .parent = LAUNCHER, .start_seconds = 0, .written = MIB };
    proc.show(40, late);
    bool is_known = GENERATE(false, true);
    proc.turn(1);
    if (is_known)
        proc.turn(2);
    late.written += 5 * MIB;
    proc.show(40, late);
    proc.look(2.5);
    proc.has_segment(is_known ? 2 : 40); /* by its number in its own namespace, or in ours */
    if (is_known)
        proc.profiled->of[0].pid_namespace = 0;
    proc.sampled->followed[0].inner_pid = is_known ? 2 : 40;
    proc.sampled->followed[0].pid_namespace = is_known ? 0 : proc.sampled->belonging.pid_namespace;
    for (int seconds = 3; seconds < 6; seconds++)
        proc.turn(seconds);
    proc.end(40);
    proc.turn(7);
    CHECK(proc.written() == (is_known ? Written{ { "/opt/copy", { { 0, MIB } } } } : Written{}));
}

TEST_CASE("the counts of children that were waited for are theirs", "[sampled]")
{
    Proc proc;
    Process parent = { .parent = LAUNCHER, .start_seconds = 0, .written = MIB, .program = "/bin/parent" };
    proc.turn(1, parent);
    parent.has_reaped = true;
    parent.written = 100 * MIB; /* with its children's */
    parent.own_written = 3 * MIB;
    proc.turn(2, parent);
    parent.own_written = 4 * MIB;
    proc.turn(3, parent);
    parent.own_written = MIB; /* threads ended: nobody knows what they did at last */
    proc.turn(4, parent);
    CHECK(proc.written() == Written{ { "/bin/parent", { { 0, MIB }, { 1, 2 * MIB }, { 2, MIB } } } });
}

TEST_CASE("another program in the same process has rows of its own, and another process of the same number too", "[sampled]")
{
    Proc proc;
    Process first = { .parent = LAUNCHER, .start_seconds = 0, .written = MIB, .program = "/bin/first" };
    proc.turn(1, first);
    proc.turn(2);
    first.written = 3 * MIB;
    first.program = "/bin/second";
    proc.turn(3, first); /* which of them wrote these 2 MiB is not known: the one that was there before */
    first.written = 4 * MIB;
    proc.turn(4, first);
    proc.turn(5);
    proc.turn(6, { .parent = LAUNCHER, .start_seconds = 5, .written = 7 * MIB, .program = "/bin/third" });
    proc.turn(7);
    Written written = proc.written();
    CHECK(written["/bin/first"] == std::map<uint64_t, uint64_t>{ { 0, MIB }, { 2, 2 * MIB } });
    CHECK(written["/bin/second"] == std::map<uint64_t, uint64_t>{ { 3, MIB } });
    uint64_t third = 0;
    for (auto &[slice, bytes] : written["/bin/third"])
        third += bytes;
    CHECK(third <= 7 * MIB);
}

TEST_CASE("the job's are descendants, sessions and the scheduler's group, and nobody else", "[sampled]")
{
    Proc proc("4711");
    CHECK(std::string(proc.sampled->belonging.cgroup) == "/system.slice/slurmstepd.scope/job_4711");
    auto is_of_job = [&](uint32_t pid) {
        for (unsigned i = 0; i < proc.sampled->belonging.used; i++)
            if (proc.sampled->belonging.seen[i].pid == pid)
                return proc.sampled->belonging.seen[i].is_of_job;
        return false;
    };
    auto group = [&](uint32_t pid, const char *path) {
        proc.show(pid, { .parent = 1, .session = pid });
        proc.sandbox.write("root/proc/" + std::to_string(pid) + "/cgroup", std::string("0::") + path + "\n");
    };
    uint32_t self = (uint32_t)getpid();
    proc.show(self, { .parent = LAUNCHER });
    proc.show(self + 1, { .parent = self }); /* the collector's own */
    proc.show(30, { .parent = 31 });         /* numbers began anew */
    proc.show(31, { .parent = LAUNCHER, .session = 31 });
    proc.show(32, { .parent = 1, .session = 31 });
    proc.show(33, { .parent = 1 });
    proc.show(34, { .parent = 2, .flags = 0x00200000 });
    proc.show(36, { .parent = 1, .session = 36 });
    proc.has_segment(36);
    proc.show(37, { .parent = 36 });
    group(50, "/system.slice/slurmstepd.scope/job_4711/step_1");
    group(51, "/system.slice/slurmstepd.scope/job_47112/step_1");
    group(52, "/system.slice/slurmstepd.scope");
    proc.look(1);
    for (uint32_t pid : { 30u, 31u, 32u, 36u, 37u, 50u })
        CHECK(is_of_job(pid));
    for (uint32_t pid : { 33u, 34u, 51u, 52u, 500u, self, self + 1 })
        CHECK_FALSE(is_of_job(pid));
    for (unsigned i = 0; i < proc.sampled->followed_used; i++)
        CHECK(proc.sampled->followed[i].pid != 36); /* it has a segment */
}

TEST_CASE("more processes than can be followed are counted, and text that is no process is nobody", "[sampled]")
{
    Proc proc;
    for (uint32_t pid = 1000; pid < 1000 + FOLLOWED_MAX + 10; pid++)
        proc.show(pid, { .parent = LAUNCHER, .start_seconds = 0, .written = MIB });
    proc.show(600, { .parent = LAUNCHER });
    proc.sandbox.write("root/proc/600/stat", "600 nothing");
    proc.sandbox.write("root/proc/1000/io", "rchar");
    for (int seconds = 1; seconds < 4; seconds++)
        proc.turn(seconds);
    CHECK(proc.sampled->left_out == 10); /* each once, however often it was looked at */
    uint64_t sum = 0;
    Written written = proc.written();
    for (auto &[slice, bytes] : written["/opt/copy"])
        sum += bytes;
    CHECK(sum == (FOLLOWED_MAX - 1) * MIB);
}

TEST_CASE("where a process wrote is told by the descriptors that move, not by the latest one", "[sampled]")
{
    Proc proc;
    Process writer = { .parent = LAUNCHER, .start_seconds = 0 };
    std::vector<Descriptor> open = { { 0, 9, READS, 0, 1 }, { 3, 30, WRITES, 0, 2 }, { 4, 31, APPENDS, 700 * MIB, 3 }, { 5, 32, WRITES, 0, 4 } };
    for (int second = 1; second < 5; second++) {
        writer.written += 20 * MIB;
        open[1].position += 20 * MIB;
        open[2].position += 1000;
        open[3].position += 20 * MIB;
        proc.turn(second, writer, open);
    }
    CHECK(proc.places() == Places{ { "/data", { 0, 40 } } });
    CHECK(proc.is_named);
}

TEST_CASE("where nothing moved that moves at other times, the next look tells", "[sampled]")
{
    Proc proc;
    Process writer = { .parent = LAUNCHER, .start_seconds = 0 };
    std::vector<Descriptor> open = { { 3, 30, WRITES, 0, 2 }, { 4, 31, WRITES, 5, 3 } };
    for (int second = 1; second < 6; second++) {
        writer.written += 20 * MIB;
        open[0].position += second % 2 == 1 ? 40 * MIB : 0; /* a look, or a call, that takes long */
        proc.turn(second, writer, open);
    }
    CHECK(proc.places() == Places{ { "/data", { 0, 50 } } });
}

TEST_CASE("who read a file through, and then others by position, is where these are", "[sampled]")
{
    Proc proc;
    Process reader = { .parent = LAUNCHER, .start_seconds = 0 };
    for (int second = 1; second < 20; second++) {
        reader.read = reader.fetched += 10 * MIB;
        proc.turn(second, reader, { { 3, 31, READS, 10 * MIB, 2 }, { 4, 30, READS, 0, 3 } });
    }
    Places places = proc.places();
    CHECK(places["/home"].first == 10);
    CHECK(places["/data"].first >= 100);
}

TEST_CASE("a copy reads from one file system and writes to another", "[sampled]")
{
    Proc proc;
    Process copy = { .parent = LAUNCHER, .start_seconds = 0, .read = 20 * MIB, .written = 20 * MIB, .fetched = 20 * MIB };
    proc.turn(1, copy, { { 3, 31, READS, 20 * MIB, 2 }, { 4, 30, WRITES, 20 * MIB, 3 } });
    proc.turn(2);
    CHECK(proc.places() == Places{ { "/home", { 20, 0 } }, { "/data", { 0, 10 } } });
}

TEST_CASE("calls that give their own position go to the descriptor that stands still, and a log that moves has its own", "[sampled]")
{
    Proc proc;
    Process writer = { .parent = LAUNCHER, .start_seconds = 0 };
    bool is_log_small = GENERATE(true, false);
    std::vector<Descriptor> open = { { 3, 30, BOTH, 0, 2 }, { 4, 31, WRITES, 0, 3 } };
    for (int second = 1; second < 5; second++) {
        writer.written += 40 * MIB;
        open[1].position += is_log_small || second == 1 ? 1000 : 2 * MIB;
        proc.turn(second, writer, open);
    }
    CHECK(proc.places()["/data"].second == (is_log_small ? 80 : 74));
}

TEST_CASE("files that are opened, written and closed between looks are where the one is that is open", "[sampled]")
{
    Proc proc;
    Process writer = { .parent = LAUNCHER, .start_seconds = 0 };
    std::vector<Descriptor> open = { { 3, 31, BOTH, 0, 2 }, { 4, 30, WRITES, MIB, 3 } };
    for (int second = 1; second < 4; second++) {
        writer.written += 40 * MIB;
        open[1].inode++;
        proc.turn(second, writer, open);
    }
    CHECK(proc.places() == Places{ { "/data", { 0, 60 } } });
}

TEST_CASE("what moved before the counts begin is nothing", "[sampled]")
{
    Proc proc;
    Process writer = { .parent = LAUNCHER, .start_seconds = 0, .written = 900 * MIB };
    std::vector<Descriptor> open = { { 3, 31, WRITES, 900 * MIB, 2 }, { 4, 30, WRITES, 0, 3 } };
    proc.show(40, writer);
    proc.opens(40, open);
    proc.has_segment(40); /* at first, so that its counts begin late */
    proc.turn(1);
    proc.profiled->used = 0;
    for (int second = 2; second < 8; second++) {
        writer.written += 40 * MIB;
        open.back().position += 40 * MIB;
        proc.turn(second, writer, open);
    }
    Places places = proc.places();
    CHECK(places.count("/home") == 0);
    CHECK(places["/data"].second > 0);
}
