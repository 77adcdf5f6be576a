/* What an interpreter runs, by its command line. */
#include "catch.h"

extern "C" {
#include "script.h"
}

#include <initializer_list>
#include <string>

namespace {
std::string script_of(const char *program, std::initializer_list<const char *> arguments, size_t room = 512)
{
    std::string line;
    for (const char *argument : arguments)
        line += argument, line += '\0';
    std::string script(room, 'x');
    script_of_arguments(program, line.data(), line.size(), script.data(), room);
    return script.c_str();
}
} // namespace

TEST_CASE("a script is the first argument that is no option")
{
    CHECK(script_of("/usr/bin/python3.11", {"python3", "train.py", "--epochs", "3"}) == "train.py");
    CHECK(script_of("/usr/bin/python3", {"python3", "-u", "-W", "ignore", "/home/me/train.py"}) == "/home/me/train.py");
    CHECK(script_of("/usr/bin/perl", {"perl", "-I", "lib", "a.pl", "-e"}) == "a.pl");
    CHECK(script_of("/bin/bash", {"/bin/bash", "job.sh"}) == "job.sh");
    CHECK(script_of("/opt/julia/bin/julia", {"julia", "-t", "4", "sim.jl"}) == "sim.jl");
}

TEST_CASE("modules, archives and classes are named")
{
    CHECK(script_of("python3.12", {"python3", "-m", "http.server", "80"}) == "http.server");
    CHECK(script_of("/usr/bin/java", {"java", "-Xmx1g", "-cp", "a.jar:b.jar", "org.example.Main"}) == "org.example.Main");
    CHECK(script_of("/usr/bin/java", {"java", "-jar", "tool.jar", "x"}) == "tool.jar");
    CHECK(script_of("/usr/lib/R/bin/exec/R", {"R", "--no-echo", "--no-restore", "--file=fit.R", "--args"}) == "fit.R");
}

TEST_CASE("code on the command line is told apart, and told to nobody")
{
    auto one = script_of("python3.11", {"python3", "-c", "password = 'secret'"});
    auto other = script_of("python3.11", {"python3", "-c", "pass"});
    CHECK(one.substr(0, 3) == "-c ");
    CHECK(one.size() == 11);
    CHECK(one.find("secret") == std::string::npos);
    CHECK(one != other);
    CHECK(one == script_of("python3.11", {"python3", "-c", "password = 'secret'"}));
}

TEST_CASE("programs that interpret nothing have no script")
{
    CHECK(script_of("/usr/bin/tar", {"tar", "x"}) == "");
    CHECK(script_of("/usr/bin/pythonic", {"pythonic", "a"}) == "");
    CHECK(script_of("/usr/bin/python3", {"python3"}) == "");
    CHECK(script_of("/usr/bin/python3", {"python3", "-"}) == "");
    CHECK(script_of("/usr/bin/python3", {"python3", "-i"}) == "");
    CHECK(script_of("/bin/sh", {}) == "");
    CHECK(script_of("", {"x", "y"}) == "");
}

TEST_CASE("a command line that is cut, and a name that is too long")
{
    char script[8];
    script_of_arguments("python3", "python3\0-m", 10, script, sizeof script);
    CHECK(std::string(script) == "");
    script_of_arguments("python3", "python3\0a_long_name.py", 22, script, sizeof script);
    CHECK(std::string(script) == "a_long_");
}
