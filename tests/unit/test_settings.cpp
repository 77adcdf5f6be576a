#include "catch.h"
#include "sandbox.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

std::vector<std::string> complaints;

void complain(const char *variable, const char *value, const char *wrong)
{
    complaints.push_back(std::string(variable) + (value != nullptr ? std::string("=") + value : "") + ": " + wrong);
}

/* One variable set while the settings are read. */
settings read_with(const char *variable, const char *value)
{
    complaints.clear();
    setenv(variable, value, 1);
    settings settings;
    settings_read(&settings, complain);
    unsetenv(variable);
    return settings;
}

} // namespace

TEST_CASE("without an environment the settings are their defaults", "[settings]")
{
    settings settings = read_with("UNRELATED", "1");
    CHECK(std::string(settings.dir) == "slicewise");
    CHECK(std::string(settings.job).empty());
    CHECK(settings.slice_ns == 4000000000);
    CHECK(std::string(settings.segment_dir) == "/dev/shm");
    CHECK(settings.is_quiet == 0);
    CHECK(settings.is_off == 0);
    CHECK(settings.bad == 0);
    CHECK(complaints.empty());
}

TEST_CASE("a slice's length is seconds from 0.1 to 60", "[settings]")
{
    static const struct { const char *text; uint64_t ns; } lengths[] = {
        { "1", 1000000000 }, { "0.1", 100000000 }, { "60", 60000000000 }, { "60.000000000", 60000000000 }, { "2.5", 2500000000 },
        { "0.123456789", 123456789 }, { "4.", 4000000000 }, { ".5", 500000000 },
    };
    for (auto [text, ns] : lengths) {
        CAPTURE(text);
        CHECK(read_with("SLICEWISE_SLICE", text).slice_ns == ns);
        CHECK(complaints.empty());
    }
}

TEST_CASE("a value that is none is complained about once, and the default stays", "[settings]")
{
    const char *text = GENERATE("0.09", "60.1", "-1", "4s", "abc", "1e3", " 4", "4 ", "0", ".", "18446744073709551617", "nan", "0x4");
    settings settings = read_with("SLICEWISE_SLICE", text);
    CHECK(settings.slice_ns == 4000000000);
    CHECK(settings.bad == 1);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0] == std::string("SLICEWISE_SLICE=") + text + ": not a number of seconds from 0.1 to 60");
}

TEST_CASE("flags are 0 or 1, choices one of theirs, and an empty value is none", "[settings]")
{
    CHECK(read_with("SLICEWISE_OFF", "1").is_off == 1);
    CHECK(read_with("SLICEWISE_OFF", "yes").is_off == 0);
    CHECK(complaints.size() == 1);
    CHECK(std::string(read_with("SLICEWISE_CLOCK", "vdso").clock) == "vdso");
    CHECK(std::string(read_with("SLICEWISE_CLOCK", "sundial").clock) == "auto");
    CHECK(complaints.size() == 1);
    CHECK(read_with("SLICEWISE_SLICE", "").slice_ns == 4000000000);
    CHECK(complaints.empty());
    CHECK(std::string(read_with("SLICEWISE_DIR", "/some/where").dir) == "/some/where");
}

TEST_CASE("a setting that there is not is named", "[settings]")
{
    CHECK(read_with("SLICEWISE_SLICES", "4").bad == 1);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0] == "SLICEWISE_SLICES=4: no such setting");
}

TEST_CASE("a setting of the command line alone is none of the library's", "[settings]")
{
    CHECK(read_with("SLICEWISE_CATALOG", "/site").bad == 0);
    CHECK(read_with("SLICEWISE_SERVERS", "/site/servers").bad == 0);
    CHECK(complaints.empty());
}

TEST_CASE("settings outlive the environment that they were read from", "[settings]")
{
    char entry[] = "SLICEWISE_DIR=/scratch/profiles";
    putenv(entry);
    settings settings;
    settings_read(&settings, complain);
    memset(entry + sizeof "SLICEWISE_DIR=" - 1, 'x', sizeof "/scratch/profiles" - 1);
    unsetenv("SLICEWISE_DIR");
    CHECK(std::string(settings.dir) == "/scratch/profiles");
}

TEST_CASE("a path that is too long is complained about", "[settings]")
{
    settings settings = read_with("SLICEWISE_DIR", std::string(800, 'x').c_str());
    CHECK(std::string(settings.dir) == "slicewise");
    CHECK(complaints.size() == 1);
    CHECK(settings.bad == 1);
    CHECK(std::string(read_with("SLICEWISE_DIR", std::string(799, 'x').c_str()).dir).size() == 799);
    CHECK(std::string(read_with("SLICEWISE_SEGMENT_DIR", std::string(4095, 'x').c_str()).segment_dir).size() == 4095);
}
