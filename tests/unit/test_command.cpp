/* What a process was asked to do, and what an interpreter runs, by its command line. */
#include "catch.h"

extern "C" {
#include "command.h"
}

#include <cstring>
#include <initializer_list>
#include <string>

namespace
{
struct command command_of(const char *program, std::initializer_list<const char *> arguments, bool has_base_names = false)
{
    std::string line;
    for (const char *argument : arguments)
        line += argument, line += '\0';
    struct command command;
    command_of_arguments(program, line.data(), line.size(), has_base_names, &command);
    return command;
}

std::string script_of(const char *program, std::initializer_list<const char *> arguments)
{
    return command_of(program, arguments).script;
}

std::string line_of(std::initializer_list<const char *> arguments, bool has_base_names = false)
{
    return command_of(*arguments.begin(), arguments, has_base_names).line;
}
} // namespace

TEST_CASE("a script is the first argument that is no option")
{
    CHECK(script_of("/usr/bin/python3.11", { "python3", "train.py", "--epochs", "3" }) == "train.py");
    CHECK(script_of("/usr/bin/python3", { "python3", "-u", "-W", "ignore", "/home/me/train.py" }) == "/home/me/train.py");
    CHECK(script_of("/usr/bin/perl", { "perl", "-I", "lib", "a.pl", "-e" }) == "a.pl");
    CHECK(script_of("/bin/bash", { "/bin/bash", "job.sh" }) == "job.sh");
    CHECK(script_of("/opt/julia/bin/julia", { "julia", "-t", "4", "sim.jl" }) == "sim.jl");
}

TEST_CASE("modules, archives and classes are named")
{
    CHECK(script_of("python3.12", { "python3", "-m", "http.server", "80" }) == "http.server");
    CHECK(script_of("/usr/bin/java", { "java", "-Xmx1g", "-cp", "a.jar:b.jar", "org.example.Main" }) == "org.example.Main");
    CHECK(script_of("/usr/bin/java", { "java", "-jar", "tool.jar", "x" }) == "tool.jar");
    CHECK(script_of("/usr/lib/R/bin/exec/R", { "R", "--no-echo", "--no-restore", "--file=fit.R", "--args" }) == "fit.R");
}

TEST_CASE("code on the command line is told apart, and told to nobody")
{
    auto one = script_of("python3.11", { "python3", "-c", "password = 'secret'" });
    auto other = script_of("python3.11", { "python3", "-c", "pass" });
    CHECK(one.substr(0, 3) == "-c ");
    CHECK(one.size() == 11);
    CHECK(one.find("secret") == std::string::npos);
    CHECK(one != other);
    CHECK(one == script_of("python3.11", { "python3", "-c", "password = 'secret'" }));
}

TEST_CASE("programs that interpret nothing have no script")
{
    CHECK(script_of("/usr/bin/tar", { "tar", "x" }) == "");
    CHECK(script_of("/usr/bin/pythonic", { "pythonic", "a" }) == "");
    CHECK(script_of("/usr/bin/python3", { "python3" }) == "");
    CHECK(script_of("/usr/bin/python3", { "python3", "-" }) == "");
    CHECK(script_of("/usr/bin/python3", { "python3", "-i" }) == "");
    CHECK(script_of("/bin/sh", {}) == "");
    CHECK(script_of("", { "x", "y" }) == "");
}

TEST_CASE("code behind several options in one word is code")
{
    CHECK(script_of("/bin/bash", { "bash", "-lc", "echo secret" }) == script_of("/bin/bash", { "bash", "-c", "echo secret" }));
    CHECK(script_of("/usr/bin/perl", { "perl", "-lane", "print" }).substr(0, 3) == "-e ");
    CHECK(script_of("/usr/bin/perl", { "perl", "-MStorable", "a.pl" }) == "a.pl");
    CHECK(script_of("/usr/bin/python3", { "python3", "-uc", "pass" }).substr(0, 3) == "-c ");
}

TEST_CASE("a command line is as a shell would take it")
{
    CHECK(line_of({ "python3", "train.py", "--epochs=3" }) == "python3 train.py --epochs=3");
    CHECK(line_of({ "./a b", "", "it's", "$HOME", "x;y", "\n" }) == "'./a b' '' 'it'\\''s' '$HOME' 'x;y' '\n'");
    CHECK(line_of({ "bash", "-c", "echo $PASSWORD", "x" }).find("echo") == std::string::npos);
    CHECK(line_of({ "bash", "-c", "echo $PASSWORD", "x" }).substr(0, 8) == "bash -c ");
    CHECK(line_of({ "perl", "-e", "one", "-e", "two" }).find("two") == std::string::npos);
    CHECK(line_of({ "bash", "job.sh", "-c", "settings.ini" }) == "bash job.sh -c settings.ini");
    CHECK(line_of({ "srun", "-n", "2", "sh", "-ec", "cd x; ./a" }).find("cd") == std::string::npos);
    CHECK(line_of({ "tar", "-c", "x" }) == "tar -c x");
}

TEST_CASE("what is secret by its name is not told")
{
    CHECK(line_of({ "a", "--password", "x", "--out", "y" }) == "a --password ... --out y");
    CHECK(line_of({ "a", "--db-password=x", "HF_TOKEN=x", "API_KEY_FILE=x" }) == "a --db-password=... HF_TOKEN=... API_KEY_FILE=...");
    CHECK(line_of({ "a", "--max-tokens", "5", "--tokenizer", "gpt", "secret" }) == "a --max-tokens 5 --tokenizer gpt secret");
    CHECK(line_of({ "a", "--token" }) == "a --token");
    CHECK(line_of({ "a", "--token", "--password", "x" }) == "a --token ... x");
}

TEST_CASE("of paths the last part alone where profiles have no others")
{
    CHECK(line_of({ "/usr/bin/python3", "/home/me/a.py", "--in=/data/b/", "c" }, true) == "python3 a.py --in=b/ c");
}

TEST_CASE("a command line that is cut, and a name that is too long")
{
    struct command command;
    command_of_arguments("python3", "python3\0-m\0htt", 14, false, &command);
    CHECK(std::string(command.line) == "python3 -m htt...");
    std::string longer(2 * COMMAND_BYTES, 'x');
    CHECK(script_of("python3", { "python3", longer.c_str() }) == longer.substr(0, COMMAND_BYTES - 1));
    CHECK(line_of({ longer.c_str() }) == longer.substr(0, COMMAND_BYTES - 4) + "...");
    std::string whole(COMMAND_BYTES - 4, 'x');
    CHECK(line_of({ whole.c_str() }) == whole);
}

TEST_CASE("a long command line gives way to what stands for its inputs")
{
    static struct command_read read;
    static char line[COMMAND_BYTES];
    memset(line, 'x', sizeof line - 1);
    char *const arguments[] = { line };
    command_note(1, arguments);
    command_of_process("stand-in", false, "3f2a9c01", &read);
    std::string text = read.command.line;
    CHECK(text.substr(text.size() - 23) == "xxx... #inputs=3f2a9c01");
    CHECK(text.size() < COMMAND_BYTES);
}

TEST_CASE("the process's own command line is read where it lies, and asked for where the program has written over its end")
{
    static struct command_read read;
    char line[] = "stand-in\0--token\0x\0ends here";
    char *const arguments[] = { line, line + 9, line + 17, line + 19 };
    command_note(4, arguments);
    command_of_process("stand-in", false, "", &read);
    CHECK(std::string(read.command.line) == "stand-in --token ... 'ends here'");
    command_of_process("stand-in", false, "3f2a9c01", &read);
    CHECK(std::string(read.command.line) == "stand-in --token ... 'ends here' #inputs=3f2a9c01");
    line[sizeof line - 1] = '!';
    command_of_process("stand-in", false, "", &read);
    CHECK(std::string(read.command.line).find("stand-in") == std::string::npos);
    CHECK(std::string(read.command.line).find("unit") != std::string::npos);
}
