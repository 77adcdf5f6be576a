/* What a process hands on to those that it starts, by environment or by the text of a command. */
#include "catch.h"
#include "engine_headers.h"

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "environment.h"
}

namespace {

const std::string PRELOAD = "LD_PRELOAD=/opt/libslicewise.so", DIR = "SLICEWISE_DIR=/profiles";

/* An environment, as exec takes it. */
class Variables {
public:
    explicit Variables(std::vector<std::string> given) : entries(std::move(given))
    {
        for (std::string &entry : entries)
            pointers.push_back(entry.data());
        pointers.push_back(nullptr);
    }
    char **get() { return pointers.data(); }

    std::vector<std::string> entries;

private:
    std::vector<char *> pointers;
};

/* The process's own environment, until the end of the test. */
class Own {
public:
    explicit Own(Variables &variables) { environ = variables.get(); }
    ~Own() { environ = before; }
    Own(const Own &) = delete;
    Own &operator=(const Own &) = delete;

private:
    char **before = environ;
};

std::vector<std::string> entries_of(char *const *envp)
{
    std::vector<std::string> entries;
    for (; *envp != nullptr; envp++)
        entries.emplace_back(*envp);
    return entries;
}

/* A process that began with these variables has taken note of them. */
void start_with(const std::vector<std::string> &entries)
{
    Variables variables(entries);
    Own own(variables);
    environment_start();
}

std::vector<std::string> carried_to(char *const *envp)
{
    std::vector<char> room(environment_room(envp, HANDED_ON_ALL));
    return entries_of(environment_carried(envp, HANDED_ON_ALL, room.data()));
}

std::vector<std::string> carried_to(const std::vector<std::string> &entries)
{
    return carried_to(Variables(entries).get());
}

std::string command_in(Variables &environment, const char *command)
{
    Own own(environment);
    std::vector<char> room(environment_room(environ, HANDED_ON_ALL));
    const char *made = environment_command(environment_carried(environ, HANDED_ON_ALL, room.data()), command);
    std::string text = made;
    environment_command_end(made, command);
    return text;
}

} // namespace

TEST_CASE("an environment without the library keeps the other libraries, and without our settings all that is not ours", "[environment]")
{
    Variables variables({ "A=1", "LD_PRELOAD=/x/libslicewise.so:/y/other.so /z/libslicewise.so", "SLICEWISE_JOB=j", "B=2" });
    std::vector<char> room(environment_room(variables.get(), HANDED_ON_SETTINGS));
    CHECK(entries_of(environment_carried(variables.get(), HANDED_ON_SETTINGS, room.data())) ==
          std::vector<std::string>{ "A=1", "LD_PRELOAD=/y/other.so", "SLICEWISE_JOB=j", "B=2" });
    CHECK(entries_of(environment_carried(variables.get(), HANDED_ON_NOTHING, room.data())) ==
          std::vector<std::string>{ "A=1", "LD_PRELOAD=/y/other.so", "B=2" });
    Variables ours({ "LD_PRELOAD=/x/libslicewise.so", "SLICEWISE_JOB=j" }), others({ "LD_PRELOAD=/y/other.so", "B=2" });
    CHECK(entries_of(environment_carried(ours.get(), HANDED_ON_NOTHING, room.data())).empty());
    CHECK(environment_room(others.get(), HANDED_ON_NOTHING) == 0);
    CHECK(environment_carried(others.get(), HANDED_ON_NOTHING, nullptr) == others.get());
}

TEST_CASE("an environment that lacks nothing is handed on itself", "[environment]")
{
    start_with({ "HOME=/", PRELOAD, DIR });
    Variables whole({ DIR, "PATH=/bin", PRELOAD });
    CHECK(environment_room(whole.get(), HANDED_ON_ALL) == 0);
    CHECK(environment_carried(whole.get(), HANDED_ON_ALL, nullptr) == whole.get());
}

TEST_CASE("what an environment lacks is added at its end", "[environment]")
{
    start_with({ "HOME=/", PRELOAD, DIR });
    CHECK(carried_to({ "PATH=/bin" }) == std::vector<std::string>{ "PATH=/bin", PRELOAD, DIR });
    CHECK(carried_to(std::vector<std::string>{}) == std::vector<std::string>{ PRELOAD, DIR });
    CHECK(carried_to(static_cast<char *const *>(nullptr)) == std::vector<std::string>{ PRELOAD, DIR });
    CHECK(carried_to({ "SLICEWISE_DIR=/own" }) == std::vector<std::string>{ "SLICEWISE_DIR=/own", PRELOAD });
    CHECK(carried_to({ "SLICEWISE_DIRECTORY=/own", PRELOAD }) == std::vector<std::string>{ "SLICEWISE_DIRECTORY=/own", PRELOAD, DIR });
}

TEST_CASE("of a list of libraries ours alone is carried, to the end of another list", "[environment]")
{
    start_with({ "LD_PRELOAD=/first.so:/opt/libslicewise.so /last.so" });
    CHECK(carried_to(std::vector<std::string>{}) == std::vector<std::string>{ PRELOAD });
    CHECK(carried_to({ "LD_PRELOAD=/other.so:/more.so", "A=b" }) ==
          std::vector<std::string>{ "LD_PRELOAD=/other.so:/more.so:/opt/libslicewise.so", "A=b" });
    CHECK(carried_to({ "LD_PRELOAD=/else/libslicewise.so" }) == std::vector<std::string>{ "LD_PRELOAD=/else/libslicewise.so" });
}

TEST_CASE("an empty list of libraries is a refusal", "[environment]")
{
    start_with({ PRELOAD });
    CHECK(carried_to({ "LD_PRELOAD=" }) == std::vector<std::string>{ "LD_PRELOAD=" });
}

TEST_CASE("what is carried outlives the strings that it was read from", "[environment]")
{
    Variables variables({ PRELOAD, DIR });
    {
        Own own(variables);
        environment_start();
    }
    for (std::string &entry : variables.entries)
        memset(entry.data(), 'x', entry.size());
    CHECK(carried_to(std::vector<std::string>{}) == std::vector<std::string>{ PRELOAD, DIR });
}

TEST_CASE("the job's name takes the place of another, and all else stays", "[environment]")
{
    Variables variables({ "A=b", "SLICEWISE_JOB=", "SLICEWISE_JOBS=2", "SLICEWISE_JOB=old" });
    Own own(variables);
    environment_name_job("new");
    CHECK(entries_of(environ) == std::vector<std::string>{ "A=b", "SLICEWISE_JOBS=2", "SLICEWISE_JOB=new" });
}

TEST_CASE("a command gets what the environment lacks, in words that no shell reads anything into", "[environment]")
{
    start_with({ PRELOAD, "SLICEWISE_DIR=/it's $here" });
    Variables emptied({ "A=b" }), other({ "LD_PRELOAD=/other.so", "SLICEWISE_DIR=/own", "SLICEWISE_NO-NAME=x" });
    CHECK(command_in(emptied, "echo 'a b' \"$c\"") ==
          "export LD_PRELOAD='/opt/libslicewise.so' SLICEWISE_DIR='/it'\\''s $here'; exec /bin/sh -c 'echo '\\''a b'\\'' \"$c\"' sh");
    CHECK(command_in(other, "true") ==
          "export LD_PRELOAD='/other.so:/opt/libslicewise.so' SLICEWISE_DIR='/own'; exec /bin/sh -c 'true' sh");
}

TEST_CASE("a command is left alone where nothing is lacking, or it would be too long", "[environment]")
{
    start_with({ PRELOAD });
    Variables whole({ PRELOAD, DIR }), emptied(std::vector<std::string>{});
    Own own(whole);
    const char *command = "true";
    CHECK(environment_command(environ, command) == command);
    CHECK(environment_command(environ, nullptr) == nullptr);
    size_t around = command_in(emptied, "").size() + 1;
    std::string longest(COMMAND_BYTES - around, 'x'), too_long = longest + "x";
    CHECK(command_in(emptied, longest.c_str()).size() + 1 == COMMAND_BYTES);
    CHECK(command_in(emptied, too_long.c_str()) == too_long);
}
