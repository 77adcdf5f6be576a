/* Taking turns: whom each policy lets go, and messages that nobody else can have made. */
#include "catch.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "policy.h"
}

namespace {

present job(uint64_t sequence, double arrived, double asked, double remaining, double processes)
{
    present made = {};
    made.sequence = sequence;
    made.arrived_seconds = arrived;
    made.asked_seconds = asked;
    made.remaining_seconds = remaining;
    made.processes = made.weight = processes;
    made.demand = 1;
    made.targets = UINT64_MAX;
    return made;
}

/* The sequence numbers of those that may go, one digit each. */
std::string chosen(policy asked, std::vector<present> jobs, double now = 0, double delay = 0, metric by = METRIC_cpu_seconds)
{
    const rule followed = { asked, by, delay };
    std::vector<present *> list;
    std::string found;
    for (present &one : jobs)
        list.push_back(&one);
    policy_decide(&followed, list.data(), (unsigned)list.size(), now);
    for (const present &one : jobs)
        if (one.is_chosen)
            found += std::to_string(one.sequence);
    return found;
}

} // namespace

TEST_CASE("fixed policies let go whom they name", "[turns]")
{
    const std::vector<present> jobs = { job(1, 0, 20, 19, 8), job(2, 1, 5, 5, 8), job(3, 2, 9, 9, 8) };
    CHECK(chosen(POLICY_interfere, jobs, 2) == "123");
    CHECK(chosen(POLICY_fcfs, jobs, 2) == "1");
    CHECK(chosen(POLICY_interrupt, jobs, 2) == "3");
    CHECK(chosen(POLICY_delay, jobs, 2, 4) == "1");
    CHECK(chosen(POLICY_delay, jobs, 5, 4) == "12");
    CHECK(chosen(POLICY_delay, jobs, 6, 4) == "123");
    for (int policy = 0; policy < POLICIES; policy++)
        CHECK(chosen((enum policy)policy, {}).empty());
}

/* Periods of 20 and 31 s are of one set (10 s), 32 s and 300 s of another (100 s); those that are not known are a set, too. */
TEST_CASE("set10 lets one job of a set go beside those of other sets", "[turns]")
{
    std::vector<present> jobs;
    for (double period : { 20.0, 32.0, 31.0, 0.0, 300.0, 0.0, 1e9, 1e-9 }) {
        jobs.push_back(job(jobs.size() + 1, (double)jobs.size(), 5, 5, 8));
        jobs.back().period_seconds = period;
    }
    CHECK(chosen(POLICY_set10, jobs, 9) == "12478");
    jobs.erase(jobs.begin(), jobs.begin() + 2);
    CHECK(chosen(POLICY_set10, jobs, 9) == "34578");
}

TEST_CASE("jobs that use no target together do not wait for each other", "[turns]")
{
    std::vector<present> jobs = { job(1, 0, 9, 9, 8), job(2, 1, 9, 9, 8), job(3, 2, 9, 9, 8), job(4, 3, 9, 9, 8) };
    jobs[0].targets = 0b0011;
    jobs[1].targets = 0b0110;
    jobs[2].targets = 0b1000;
    jobs[3].targets = 0b0001;
    CHECK(chosen(POLICY_fcfs, jobs, 4) == "13");
    CHECK(chosen(POLICY_set10, jobs, 4) == "13");
    CHECK(chosen(POLICY_interrupt, jobs, 4) == "234");
    CHECK(chosen(POLICY_dynamic, { jobs[0], jobs[2] }, 4) == "13");
    jobs[3].targets = UINT64_MAX; /* it said nothing of targets */
    CHECK(chosen(POLICY_interrupt, jobs, 4) == "4");
    CHECK(chosen(POLICY_fcfs, { jobs[3], jobs[0] }, 4) == "4");
}

/* Equal jobs of 2048 processes that take 20 s and 5 s alone: by CPU seconds the first is interrupted if the second comes within 15 s. */
TEST_CASE("dynamic interrupts where that costs fewer CPU seconds", "[turns]")
{
    const double dt = GENERATE(0.0, 14.0, 14.9, 15.1, 16.0, 19.0);
    const std::vector<present> jobs = { job(1, 0, 20, 20 - dt, 2048), job(2, dt, 5, 5, 2048) };
    CHECK(chosen(POLICY_dynamic, jobs, dt) == (dt < 15 ? "2" : "1"));
}

TEST_CASE("dynamic lets a large job go on before a small one that takes nearly as long", "[turns]")
{
    CHECK(chosen(POLICY_dynamic, { job(1, 0, 20, 10, 2048), job(2, 10, 5, 5, 512) }, 10) == "1");
}

TEST_CASE("dynamic looks at so many jobs and no more, and lets one of them go", "[turns]")
{
    std::vector<present> jobs;
    for (unsigned i = 0; i < 1000; i++)
        jobs.push_back(job(i + 1, i * 0.001, 1 + (i * 7919 % 1000), 1 + (i * 7919 % 1000), 4));
    CHECK(chosen(POLICY_dynamic, jobs, 1) == "1"); /* the shortest of all */
}
