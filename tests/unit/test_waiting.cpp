/* Where the job's threads sleep in the kernel, as /proc shows it from look to look. */
#include "catch.h"
#include "sandbox.h"

#include <map>
#include <vector>

extern "C" {
#include "waiting.h"
}

namespace fs = std::filesystem;

namespace
{

constexpr uint64_t SECOND = 1000000000, LOOK = SECOND / 4;

/* A node's processes: those of the job, each with its threads' states and places. */
struct Node {
    Sandbox sandbox;
    Node() : root(sandbox.path("root"))
    {
        belonging.root = root.c_str();
    }
    void thread(uint32_t pid, uint32_t tid, unsigned threads, char state, const std::string &place) const
    {
        std::string id = std::to_string(tid), dir = "root/proc/" + id;
        fs::create_directories(root + "/proc/" + std::to_string(pid) + "/task/" + id);
        sandbox.write(dir + "/stat", id + " (a) " + state + " 1 1 1 0 -1 0 9 0 0 0 3 4 0 0 20 0 " + std::to_string(threads) + " 0 500 0 0\n");
        sandbox.write(dir + "/wchan", place);
    }
    void process(uint32_t pid, char state, const std::string &place, bool is_of_job = true)
    {
        thread(pid, pid, 1, state, place);
        seen.push_back({ .pid = pid, .parent = 1, .session = 1, .start_ticks = 500, .is_of_job = is_of_job });
    }
    void look(uint64_t at_ns)
    {
        belonging.seen = seen.data();
        belonging.used = (unsigned)seen.size();
        waiting_look(&waiting, &under_way, &belonging, at_ns);
    }
    std::map<std::string, uint64_t> slept() const
    {
        std::map<std::string, uint64_t> by_place;
        for (unsigned i = 0; i < waiting.places_used; i++)
            by_place[waiting.places[i].name] += waiting.places[i].ns;
        return by_place;
    }
    std::string root;
    struct belonging belonging = {};
    struct waiting waiting = {};
    struct under_way_table under_way = {};
    std::vector<struct seen> seen;
};

} // namespace

TEST_CASE("threads that sleep are told by the kernel's function, for the time since the look before", "[waiting]")
{
    Node node;
    node.process(10, 'D', "folio_wait_bit_common");
    node.process(11, 'R', "0");
    node.process(12, 'S', "poll_schedule_timeout.constprop.0");
    node.process(13, 'D', "0"); /* the kernel does not say */
    node.process(14, 'D', "folio_wait_bit_common", false);
    node.look(SECOND);
    CHECK(node.slept().empty()); /* nobody knows what was before */
    node.look(SECOND + LOOK);
    node.thread(12, 12, 1, 'D', "rpc_wait_bit_killable.isra.0");
    node.look(SECOND + 2 * LOOK);
    CHECK(node.slept() == std::map<std::string, uint64_t>{ { "folio_wait_bit_common", 2 * LOOK }, { "rpc_wait_bit_killable", LOOK }, { "", 2 * LOOK } });
    node.look(SECOND + 100 * SECOND); /* the node's clock, or the collector, stood still */
    CHECK(node.slept()["folio_wait_bit_common"] == 2 * LOOK + SECOND);
}

TEST_CASE("each thread counts, and a number that another process has by now does not", "[waiting]")
{
    Node node;
    node.process(10, 'R', "0");
    for (uint32_t tid = 10; tid < 14; tid++)
        node.thread(10, tid, 4, tid == 10 ? 'R' : 'D', "a");
    node.process(20, 'D', "b");
    node.seen.back().start_ticks = 7;
    node.look(SECOND);
    node.look(SECOND + LOOK);
    CHECK(node.slept() == std::map<std::string, uint64_t>{ { "a", 3 * LOOK } });
}

TEST_CASE("some of many processes stand for all of them, each in its turn", "[waiting]")
{
    Node node;
    for (uint32_t pid = 100; pid < 164; pid++)
        node.process(pid, pid < 132 ? 'D' : 'S', "a");
    node.look(SECOND);
    for (unsigned look = 1; look <= 8; look++)
        node.look(SECOND + look * LOOK);
    CHECK(node.slept()["a"] == 32 * 8 * LOOK);
}

TEST_CASE("more places than there is room for are one", "[waiting]")
{
    Node node;
    for (uint32_t pid = 10; pid < 10 + WAITING_PLACES; pid++)
        node.process(pid, 'D', "place" + std::to_string(pid));
    node.look(SECOND);
    for (unsigned look = 1; look <= 2; look++) {
        node.look(SECOND + look * LOOK);
        for (uint32_t pid = 10; pid < 10 + WAITING_PLACES; pid++)
            node.thread(pid, pid, 1, 'D', "other" + std::to_string(pid));
    }
    CHECK(node.waiting.places_used == WAITING_PLACES);
    CHECK(node.slept()["place10"] == LOOK);
    CHECK(node.slept()[""] == (1 + WAITING_PLACES) * LOOK);
}
