/* Everybody else on the node, as /proc shows them: who counts, for which user and slice, and what never counts twice. */
#include "catch.h"
#include "sandbox.h"

#include <map>
#include <memory>

extern "C" {
#include "others.h"
}

namespace fs = std::filesystem;

namespace {

constexpr uint64_t SECOND = 1000000000, MIB = 1 << 20;
constexpr uint64_t BEGIN = 1000 * SECOND;
constexpr uint32_t JOB_USER = 500, ALICE = 1001, BOB = 1002;

struct Process {
    uint32_t user = ALICE, parent = 1;
    uint64_t written = 0;
    uint64_t own_written = 0; /* by its living threads alone */
    uint64_t start_seconds = 0;
    std::string name = "name";
    unsigned flags = 0;
};

using Written = std::map<uint32_t, std::map<uint64_t, uint64_t>>;

struct Node {
    Sandbox sandbox;
    explicit Node(bool is_named = true) : root(sandbox.path("root")), others(new struct others()), profiled(new profiled_by_users())
    {
        fs::create_directories(root + "/proc");
        fake_system.has_clock = true;
        fake_system.realtime_ns = fake_system.monotonic_ns = BEGIN;
        REQUIRE(others_begin(others.get(), root.c_str(), SECOND, JOB_USER, is_named) == 0);
        show(1, { .user = 0, .parent = 0 });
    }

    void show(uint32_t pid, const Process &process) const
    {
        std::string dir = "root/proc/" + std::to_string(pid), id = std::to_string(pid);
        auto io = [](uint64_t written) {
            return "rchar: 0\nwchar: " + std::to_string(written) + "\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n";
        };
        sandbox.write(dir + "/stat", id + " (" + process.name + ") S " + std::to_string(process.parent) + " 1 1 0 -1 " + std::to_string(process.flags) +
                                 " 9 0 0 0 3 4 0 0 20 0 1 0 " + std::to_string((BEGIN / SECOND + process.start_seconds) * 100) + " 0 0\n");
        sandbox.write(dir + "/io", io(process.written));
        sandbox.write(dir + "/task/" + id + "/io", io(process.own_written));
        sandbox.write(dir + "/status", "Name:\tx\nUid:\t" + std::to_string(process.user) + "\t0\t0\t0\nNSpid:\t" + id + "\n");
    }
    void end(uint32_t pid) const { fs::remove_all(root + "/proc/" + std::to_string(pid)); }

    /* A look at the end of a slice, so many seconds after the first; what it adds is in `written`. */
    void look(double seconds, const std::vector<own> &own = {})
    {
        static struct others_row rows[OTHER_ROWS_MAX];
        fake_system.realtime_ns = fake_system.monotonic_ns = BEGIN + (uint64_t)(seconds * 1e9);
        others_look(others.get());
        others_settle(others.get(), profiled.get(), own.data(), (unsigned)own.size());
        unsigned used = others_take(others.get(), rows);
        for (unsigned i = 0; i < used; i++) {
            written[rows[i].user][rows[i].slice - BEGIN / SECOND] += rows[i].counts[1];
            processes[rows[i].user] = rows[i].processes;
        }
    }
    void has_segment(uint32_t pid, uint32_t user) const
    {
        profiled->of[profiled->used++] = { .pid = pid, .user = user, .pid_namespace = 0, .created_ns = 0 };
    }

    std::string root;
    std::unique_ptr<struct others> others;
    std::unique_ptr<profiled_by_users> profiled;
    Written written;
    std::map<uint32_t, uint64_t> processes;
};

} // namespace

TEST_CASE("what users' processes moved between looks lies in the slices in which it was", "[others]")
{
    Node node;
    node.show(10, { .written = 50 * MIB });
    node.show(11, {});
    node.show(12, { .user = BOB });
    node.look(0); /* what was before the first look is nobody's */
    node.show(10, { .written = 51 * MIB });
    node.show(11, { .written = 3 * MIB });
    node.look(0.999);
    node.show(10, { .written = 53 * MIB });
    node.show(12, { .user = BOB, .written = 5 * MIB });
    node.look(2.999); /* over two slices */
    CHECK(node.written[ALICE][0] - 4 * MIB < MIB / 100); /* a thousandth of a second belongs to it, too */
    CHECK(node.written[ALICE][1] + node.written[ALICE][2] + node.written[ALICE][0] == 6 * MIB);
    CHECK(node.written[BOB][1] + node.written[BOB][2] + node.written[BOB][0] == 5 * MIB);
    CHECK(node.processes[ALICE] == 2);
    CHECK(node.written.size() == 2);
}

TEST_CASE("who is hidden is in one row with all others", "[others]")
{
    Node node(false);
    node.show(10, {});
    node.show(12, { .user = BOB });
    node.show(13, { .user = JOB_USER });
    node.look(0);
    node.show(10, { .written = MIB });
    node.show(12, { .user = BOB, .written = 2 * MIB });
    node.show(13, { .user = JOB_USER, .written = 4 * MIB });
    node.look(0.9);
    CHECK(node.written == Written{ { USER_NOT_NAMED, { { 0, 3 * MIB } } }, { JOB_USER, { { 0, 4 * MIB } } } });
    CHECK(node.processes[USER_NOT_NAMED] == 3);
}

TEST_CASE("a segment leaves out processes of its owner alone", "[others]")
{
    Node node;
    node.show(10, {});
    node.show(12, { .user = BOB });
    node.has_segment(10, ALICE);
    node.has_segment(12, ALICE);
    node.look(0);
    node.show(10, { .written = MIB });
    node.show(12, { .user = BOB, .written = 2 * MIB });
    node.look(0.9);
    CHECK(node.written == Written{ { BOB, { { 0, 2 * MIB } } } });
}

TEST_CASE("a process whose segment is gone counts from the second look without it on", "[others]")
{
    Node node;
    node.show(10, {});
    node.has_segment(10, ALICE);
    node.look(0);
    node.profiled->used = 0;
    node.show(10, { .written = MIB }); /* it may just have ended its profile */
    node.look(0.9);
    node.show(10, { .written = 3 * MIB });
    node.look(1.9);
    node.show(10, { .written = 7 * MIB });
    node.look(2.9);
    CHECK(node.written[ALICE] == std::map<uint64_t, uint64_t>{ { 1, 4 * MIB * 1 / 10 }, { 2, 4 * MIB - 4 * MIB * 1 / 10 } });
}

TEST_CASE("the job's own processes are left out, of its user alone", "[others]")
{
    Node node;
    uint64_t ticks = BEGIN / SECOND * 100;
    std::vector<own> own = { { 10, ticks }, { 13, ticks }, { 14, ticks + 1 } };
    auto show = [&](uint64_t written) {
        node.show(10, { .written = written });
        node.show(13, { .user = JOB_USER, .written = written });
        node.show(14, { .user = JOB_USER, .written = written }); /* another one of that number */
    };
    show(0);
    node.look(0, own);
    show(MIB);
    node.look(0.9, own);
    CHECK(node.written == Written{ { ALICE, { { 0, MIB } } }, { JOB_USER, { { 0, MIB } } } });
}

TEST_CASE("children that were waited for count once, with what they did after the last look", "[others]")
{
    Node node;
    node.show(10, {}); /* a shell */
    node.look(0);
    node.show(20, { .parent = 10, .written = 5 * MIB, .start_seconds = 0 });
    node.look(0.5);
    node.end(20);
    node.show(10, { .written = 7 * MIB }); /* it did 2 MiB more, and the kernel adds all 7 to the shell's */
    node.look(0.9);
    node.look(1.5);
    CHECK(node.written == Written{ { ALICE, { { 0, 7 * MIB } } } });
}

TEST_CASE("children that nobody waited for take nothing from their parent's later counts", "[others]")
{
    Node node;
    node.show(10, {});
    node.show(20, { .parent = 10 });
    node.look(0);
    node.show(20, { .parent = 10, .written = 5 * MIB });
    node.look(0.1);
    node.end(20);
    for (double seconds = 0.2; seconds < 0.65; seconds += 0.1)
        node.look(seconds);
    node.show(10, { .written = MIB });
    node.look(0.9);
    CHECK(node.written == Written{ { ALICE, { { 0, 6 * MIB } } } });
}

TEST_CASE("a parent of another user's, or of a profiled process counts by its own threads", "[others]")
{
    Node node;
    bool is_profiled = GENERATE(false, true);
    node.show(10, { .user = ALICE });
    node.show(20, { .user = is_profiled ? ALICE : BOB, .parent = 10 });
    if (is_profiled)
        node.has_segment(20, ALICE);
    node.look(0);
    node.show(20, { .user = is_profiled ? ALICE : BOB, .parent = 10, .written = 5 * MIB });
    node.show(10, { .user = ALICE, .written = MIB, .own_written = MIB });
    node.look(0.5);
    node.end(20);
    node.show(10, { .user = ALICE, .written = 10 * MIB, .own_written = 2 * MIB }); /* with 7 MiB of the child's and 2 of its own */
    node.look(0.9);
    CHECK(node.written[ALICE][0] == 2 * MIB);
    CHECK(node.written[BOB][0] == (is_profiled ? 0 : 5 * MIB));
}

TEST_CASE("a new process counts from its start, once a second look has shown no segment", "[others]")
{
    Node node;
    node.look(0);
    node.show(10, { .written = MIB });
    node.show(11, { .written = 2 * MIB });
    node.look(0.4);
    CHECK(node.written.empty());
    node.has_segment(11, ALICE);
    node.look(0.8);
    CHECK(node.written == Written{ { ALICE, { { 0, MIB } } } });
}

TEST_CASE("another process of the same number is another one", "[others]")
{
    Node node;
    node.show(10, { .written = 9 * MIB });
    node.look(0);
    node.end(10);
    node.show(10, { .user = BOB, .written = MIB, .start_seconds = 1 });
    node.look(1.9);
    node.look(2.9);
    CHECK(node.written == Written{ { BOB, { { 1, MIB } } } });
}

TEST_CASE("threads of the kernel and collectors of root's are nobody's traffic", "[others]")
{
    Node node;
    node.show(2, { .user = 0, .flags = 0x00200000 });
    node.show(10, { .user = 0, .name = "slicewise-collec" });
    node.look(0);
    node.show(2, { .user = 0, .written = MIB, .flags = 0x00200000 });
    node.show(10, { .user = 0, .written = MIB, .name = "slicewise-collec" });
    node.look(0.9);
    CHECK(node.written.empty());
}

TEST_CASE("when segments are more than can be told apart, nothing is counted", "[others]")
{
    Node node;
    node.show(10, {});
    node.look(0);
    node.profiled->is_cut = true;
    node.show(10, { .written = MIB });
    node.look(0.4);
    node.profiled->is_cut = false;
    node.show(10, { .written = 3 * MIB });
    node.look(0.8);
    CHECK(node.written == Written{ { ALICE, { { 0, 2 * MIB } } } });
    CHECK(node.others->left_out == 1);
}
