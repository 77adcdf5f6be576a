#include "catch.h"
#include "sandbox.h"

#include <cstdlib>

namespace {

const char *const variables[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };

/* An environment without a scheduler or a launcher. */
struct Bare {
    Bare() { clear(); }
    ~Bare() { clear(); }
    static void clear()
    {
        for (const char *variable : variables)
            unsetenv(variable);
    }
};

std::string job_of(const char *setting, size_t room = 128, bool *is_made = nullptr)
{
    settings settings = {};
    settings.job = setting;
    std::string name(room, '\0');
    bool was_made = identity_job(name.data(), room, &settings);
    if (is_made != nullptr)
        *is_made = was_made;
    return name.c_str();
}

} // namespace

TEST_CASE("a job is named by the setting, else by the scheduler, else by program and process", "[identity]")
{
    Bare bare;
    bool is_made = false;
    CHECK(job_of("", 128, &is_made) == "unit-" + std::to_string(getpid()));
    CHECK(is_made);
    setenv("PBS_JOBID", "77.server", 1);
    CHECK(job_of("", 128, &is_made) == "77.server");
    CHECK_FALSE(is_made);
    setenv("SLURM_JOB_ID", "48213", 1);
    CHECK(job_of("") == "48213");
    CHECK(job_of("mine") == "mine");
}

TEST_CASE("a job's name is the name of a directory, and of nothing else", "[identity]")
{
    Bare bare;
    CHECK(job_of("../../etc/cron.d") == "_._.._etc_cron.d");
    CHECK(job_of("a b\nc/\"d\"") == "a_b_c__d_");
    CHECK(job_of("..") == "_.");
    CHECK(job_of("1234567890", 5) == "1234");
}

TEST_CASE("only the first rank speaks", "[identity]")
{
    Bare bare;
    CHECK_FALSE(identity_is_further_rank());
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    CHECK_FALSE(identity_is_further_rank());
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    CHECK(identity_is_further_rank());
}

TEST_CASE("a process's row says who it is, and where it drains to", "[identity]")
{
    Bare bare;
    Sandbox sandbox;
    Engine started(sandbox);
    CHECK(std::string(engine.home.segment->spool_dir) == sandbox.path("job"));
    uint64_t first = engine.home.segment->process;
    auto row = started.finish().rows("processes").at(0);
    CHECK(first != 0);
    CHECK(row.text["job"] == "job");
    CHECK(row["pid"] == (uint64_t)getpid());
    CHECK(row["parent"] == (uint64_t)getppid());
    CHECK(row["user"] == getuid());
    CHECK(row["rank"] == UINT64_MAX);
    CHECK(row["clock"] == CLOCK_SOURCE_vdso);
    CHECK(row.text["program"].find("unit") != std::string::npos);
}

TEST_CASE("processes that start at different moments have different ids", "[identity]")
{
    Bare bare;
    Sandbox sandbox;
    std::map<uint64_t, int> ids;
    for (int i = 0; i < 50; i++) {
        Engine started(sandbox);
        fake_engine_stop();
        fake_system.realtime_ns += (uint64_t)i;
        fake_engine_start(sandbox.path().c_str(), 4000000000);
        ids[engine.home.segment->process]++;
    }
    CHECK(ids.size() == 50);
}
