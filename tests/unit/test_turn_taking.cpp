/* What happens to jobs in turn: how far a job is believed, and what becomes of one that is served for too long. */
#include "catch.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

extern "C" {
#include "turns.h"
}

namespace
{

std::map<const job *, bool> told;

void tell(job *whom, bool may_go)
{
    told[whom] = may_go;
}

void put_out(job *whom)
{
    told[whom] = false;
}

/* A coordinator of jobs of one process each, whose clock is the test's. */
struct Service {
    std::unique_ptr<turns> state = std::make_unique<turns>();
    std::map<int, member> members;
    uint64_t now_ns = 0;

    explicit Service(policy followed)
    {
        told.clear();
        state->rule = { followed, METRIC_sum_interference, 0 };
        state->is_rule_fixed = true;
        state->capacity = 1e9;
        state->most_seconds = 10;
        state->idle_seconds = 1;
        state->most_processes = 1000;
        state->tell = tell;
        state->put_out = put_out;
        turns_start(state.get(), now_ns);
    }

    ~Service()
    {
        for (auto &[name, one] : members)
            turns_leave(state.get(), &one, now_ns);
        turns_end(state.get());
    }

    void pass(double seconds)
    {
        const uint64_t until_ns = now_ns + (uint64_t)(seconds * 1e9);
        for (; now_ns < until_ns; now_ns += 100'000'000)
            tick();
        now_ns = until_ns;
        tick();
    }

    /* Job 1 has had so many phases, which took other times than it claimed, and asks for one more. */
    void repeat(int phases, double claimed, double took)
    {
        for (; phases > 0; phases--) {
            ask(1, claimed);
            pass(took);
            end(1);
        }
        ask(1, claimed);
    }

    void tick()
    {
        while (turns_tick(state.get(), now_ns) == 0)
            ;
    }

    void ask(int name, double seconds, double period = 0, uint64_t targets = 0)
    {
        claim claimed = {};
        claimed.period_seconds = period;
        claimed.targets = targets;
        claimed.bytes = claimed.remaining_bytes = (uint64_t)(seconds * 1e9);
        claimed.processes = 1;
        if (members.find(name) == members.end())
            REQUIRE(turns_join(state.get(), &members[name], (uint64_t)name, 0));
        turns_inform(state.get(), &members[name], &claimed, -1, now_ns);
        tick();
    }

    void end(int name)
    {
        turns_release(state.get(), &members[name], 0, now_ns);
        tick();
    }

    bool goes(int name)
    {
        return turns_may_go(members[name].job);
    }
};

} // namespace

TEST_CASE("who was served for too long and asks anew stays behind those who waited", "[turns]")
{
    const policy followed = GENERATE(POLICY_fcfs, POLICY_interrupt, POLICY_dynamic);
    Service service(followed);
    service.ask(1, 1000);
    service.pass(1);
    service.ask(2, 2000);
    if (!service.goes(1)) { /* then it is the second that is served for too long, and the first that waits */
        service.pass(10.2);
        service.ask(2, 0.001);
        CHECK(service.goes(1));
        CHECK(!service.goes(2));
        service.end(1);
        CHECK(service.goes(2));
        return;
    }
    service.pass(10);
    service.ask(1, 0.001);
    CHECK(!service.goes(1));
    CHECK(service.goes(2));
    service.pass(3);
    CHECK(service.goes(2));
    service.end(2);
    CHECK(service.goes(1));
}

TEST_CASE("who stays behind does so for the same time at most, and may leave meanwhile", "[turns]")
{
    const bool leaves = GENERATE(false, true);
    Service service(POLICY_interrupt);
    service.ask(1, 1000);
    service.ask(2, 1000);
    service.pass(10.2);
    service.ask(2, 1000);
    REQUIRE(service.goes(1));
    if (leaves) {
        turns_leave(service.state.get(), &service.members[2], service.now_ns);
        service.members.erase(2);
    }
    CHECK(service.state->kept_back == !leaves);
    service.pass(10);
    CHECK(service.state->kept_back == 0);
    if (!leaves)
        CHECK(service.goes(2));
}

/* By the least cost the shorter job goes first: so one that says that it is, and is not, is found out after two phases. */
TEST_CASE("who claims less than he needs is judged by what he needed, and who claims what he needs is believed", "[turns]")
{
    const auto [claimed, took, is_believed] =
        GENERATE(table<double, double, bool>({ { 1e-6, 8, false }, { 0.01, 8, false }, { 1, 8, false }, { 2, 2, true } }));
    Service service(POLICY_dynamic);
    service.repeat(2, claimed, took);
    service.ask(2, 3);
    CHECK(service.goes(1) == is_believed);
    CHECK(service.goes(2) != is_believed);
}

TEST_CASE("who claims more than he needs does not get what waits for him", "[turns]")
{
    Service service(POLICY_fcfs);
    service.repeat(3, 1e6, 2);
    service.pass(0.1);
    CHECK(service.members[1].job != nullptr);
    CHECK(service.state->present[0]->asked_seconds < 3);
}

TEST_CASE("what many processes claim together, and their job's trust makes more of, stays a number of seconds", "[turns]")
{
    constexpr int PROCESSES = 1000;
    Service service(POLICY_interfere);
    claim each = {};
    each.bytes = each.remaining_bytes = 1'000'000'000;
    each.processes = 1;
    for (int i = 0; i < PROCESSES; i++)
        REQUIRE(turns_join(service.state.get(), &service.members[i], 1, 0));
    for (double took : { 1.0, 15.5 * 2 - 1 }) { /* of the second phase it claims 1 s: from then on it is believed to need 15 times as long */
        turns_inform(service.state.get(), &service.members[0], &each, -1, service.now_ns);
        service.pass(took);
        turns_release(service.state.get(), &service.members[0], 0, service.now_ns);
    }
    each.seconds = 1e9;
    for (int i = 0; i < PROCESSES; i++)
        turns_inform(service.state.get(), &service.members[i], &each, -1, service.now_ns);
    REQUIRE(service.state->present_used == 1);
    CHECK(service.state->present[0]->asked_seconds == 1e12);
}

/* Periods of 3.1 s and of 4 s are of two sets. A phase that goes on after it was cut short is no new one. */
TEST_CASE("a job's period is what it says, or else the mean of its own phases so far", "[turns]")
{
    Service service(POLICY_set10);
    service.ask(1, 1);
    service.pass(3.1);
    service.ask(1, 1);
    CHECK(service.state->present[0]->period_seconds == 0); /* it is still in its first phase, as far as is known */
    service.end(1);
    service.ask(1, 1);
    CHECK(service.state->present[0]->period_seconds == 3.1);
    service.ask(2, 1);
    CHECK(service.goes(2)); /* nothing is known of it */
    service.ask(3, 1);
    CHECK(!service.goes(3)); /* nor of this one */
    service.ask(4, 1, 3);
    CHECK(!service.goes(4));
    service.ask(5, 1, 4);
    CHECK(service.goes(5));
    service.end(1);
    CHECK(service.goes(4));
    CHECK(!service.goes(3));
    service.end(2);
    CHECK(service.goes(3));
}

TEST_CASE("a phase that was cut short and goes on is no other one", "[turns]")
{
    Service service(POLICY_fcfs);
    service.ask(1, 1000);
    service.ask(2, 1);
    service.pass(10.2);
    service.ask(1, 1000);
    service.end(2);
    CHECK(service.goes(1));
    service.end(1);
    service.pass(20.8);
    service.ask(1, 1000);
    REQUIRE(service.state->present_used == 1);
    CHECK(service.state->present[0]->period_seconds == 31);
}

TEST_CASE("who is served for long is not cut short for jobs that do not wait for it", "[turns]")
{
    Service service(POLICY_fcfs);
    service.ask(1, 1000, 0, 0b001);
    service.ask(2, 1000, 0, 0b110);
    CHECK(service.goes(1));
    CHECK(service.goes(2));
    service.ask(3, 1000, 0, 0b010);
    CHECK(!service.goes(3));
    service.pass(10.2);
    CHECK(service.goes(1));
    CHECK(!service.goes(2));
    CHECK(service.goes(3));
    service.ask(2, 1000, 0, 0b100); /* nothing of it is waited for any more */
    CHECK(service.goes(2));
}
