#include "catch.h"
#include "sandbox.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>

namespace fs = std::filesystem;

Sandbox::Sandbox()
{
    std::string made = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) / "slicewise-unit-XXXXXX";
    if (mkdtemp(made.data()) == nullptr)
        throw std::runtime_error("no directory for the tests: " + made);
    root = made;
    fake_system_reset();
}

Sandbox::~Sandbox()
{
    fake_system_reset();
    fs::remove_all(root);
}

std::string Sandbox::path(const std::string &name) const
{
    return name.empty() ? root.string() : (root / name).string();
}

std::string Sandbox::write(const std::string &name, const std::string &text) const
{
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
    return path(name);
}

Spool finish_a_copy(const Sandbox &sandbox, const Segment &original, size_t bytes)
{
    std::string path = sandbox.path("copy"), spool = sandbox.path("spool-of-copy");
    fs::remove_all(spool);
    fs::create_directory(spool);
    if (fs::exists(original.spool))
        fs::copy_file(original.spool, spool + "/node.swz");
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write((const char *)original.home.segment, (std::streamsize)bytes);
    file.seekp(offsetof(segment, spool_dir));
    file.write(spool.c_str(), (std::streamsize)spool.size() + 1);
    file.close();
    fs::resize_file(path, sizeof(segment));

    REQUIRE(adopt_segment(path.c_str(), "").outcome == ADOPTED);
    REQUIRE_FALSE(fs::exists(path));
    Spool finished = read_spool(spool + "/node.swz");
    REQUIRE(finished.is_gapless());
    REQUIRE(finished.bytes_passed_over == 0);
    return finished;
}

uint32_t dead_pid()
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, nullptr, 0);
    return (uint32_t)child;
}

Segment::Segment(const Sandbox &sandbox, const std::string &name)
{
    if (segment_create(&home, sandbox.path().c_str(), name.c_str()) != 0 || home.place != PLACE_shm)
        throw std::runtime_error("no segment in the sandbox");
    segment *made = home.segment;
    made->pid = dead_pid();
    made->pid_namespace = adopt_pid_namespace();
    made->process = 4711;
    made->state = SEGMENT_LIVE;
    made->process_row[processes_slice_ns] = 4000000000;
    made->process_row[processes_host] = segment_add_text(&home, "node");
    std::snprintf(made->spool_dir, sizeof made->spool_dir, "%s", sandbox.path("spool").c_str());
    spool = sandbox.path("spool/node.swz");
}

Segment::~Segment()
{
    if (home.segment != nullptr)
        segment_unmap(&home);
}

union commit Segment::commit() const
{
    union commit commit;
    commit.word = home.segment->commit;
    return commit;
}

struct lane *Segment::lane(uint32_t index)
{
    struct lane *lane = segment_lane(home.segment, index);
    if (index >= home.segment->lanes_used) {
        if (segment_reserve(&home, lane, LANE_BYTES) != 0)
            throw std::runtime_error("no memory for a lane");
        home.segment->lanes_used = index + 1;
    }
    return lane;
}

static std::string kept; /* the settings keep a pointer to the directory's name */

Engine::Engine(const Sandbox &sandbox, uint64_t slice_ns)
{
    kept = sandbox.path();
    fake_system.has_clock = true;
    fake_system.realtime_ns = 1000 * NS_PER_SECOND;
    fake_system.monotonic_ns = 500 * NS_PER_SECOND;
    fake_engine_start(kept.c_str(), slice_ns);
    char path[2048];
    spool_path(path, sizeof path, engine.home.segment);
    spool = path;
}

Engine::~Engine()
{
    fake_engine_stop();
}

void Engine::pass(uint64_t ns)
{
    fake_system.realtime_ns += ns;
    fake_system.monotonic_ns += ns;
}

struct call Engine::call(enum operation operation, uint64_t ns) const
{
    struct call call = {};
    call.operation = operation;
    call.start_tick = fake_system.monotonic_ns - ns;
    call.end_tick = fake_system.monotonic_ns;
    return call;
}

Spool Engine::finish()
{
    if (segment_finish(&engine.home, ENDING_exit, fake_system.realtime_ns, 0) != 0)
        throw std::runtime_error("the segment could not be drained");
    return read_spool(spool);
}

const counts *Engine::open_counts(uint32_t mount, enum layer layer) const
{
    const struct lane *lane = thread_state.lane;
    unsigned place = lane != nullptr ? lane->cell_of[layer][mount] : 0;
    return place != 0 ? &lane_cell(const_cast<struct lane *>(lane), place)->counts : nullptr;
}
