/* A directory of a test's own below /dev/shm (or TMPDIR), and the engine's life in it. */
#ifndef SLICEWISE_TESTS_SANDBOX_H
#define SLICEWISE_TESTS_SANDBOX_H

#include "engine_headers.h"
#include "spool_reader.h"

#include <filesystem>
#include <string>

/* Removed with all that is in it, and the system made real again, at the end. */
class Sandbox {
public:
    Sandbox();
    ~Sandbox();
    Sandbox(const Sandbox &) = delete;
    Sandbox &operator=(const Sandbox &) = delete;

    std::string path(const std::string &name = "") const;
    std::string write(const std::string &name, const std::string &text) const;

private:
    std::filesystem::path root;
};

/* A segment by itself, of a process that drains to `spool` in the sandbox. The process is gone unless it is said to live. */
class Segment {
public:
    explicit Segment(const Sandbox &sandbox, const std::string &name = "job.1");
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;

    segment *operator->() { return home.segment; }
    union commit commit() const;
    struct lane *lane(uint32_t index);

    segment_home home;
    std::string spool;
};

/* The spool that comes of the segment (its first `bytes`) and the spool as they are now, when somebody else finishes them in a place of their own. */
Spool finish_a_copy(const Sandbox &sandbox, const Segment &original, size_t bytes);

/* The id of a process that ran and is gone. */
uint32_t dead_pid();

/* The engine on, with a clock that stands at 1000 s and only moves when told. */
class Engine {
public:
    explicit Engine(const Sandbox &sandbox, uint64_t slice_ns = 4000000000);
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /* Moves both clocks on. */
    void pass(uint64_t ns);
    /* A call that began `ns` ago and ends now. */
    struct call call(enum operation operation, uint64_t ns) const;
    /* Ends the process properly, and reads what it wrote. */
    Spool finish();
    /* What the calling thread's lane holds of a mount and layer in the open slice; NULL: nothing. */
    const counts *open_counts(uint32_t mount, enum layer layer) const;

    std::string spool;
};

/* What most tests begin with. */
struct OneSegment {
    Sandbox sandbox;
    Segment segment{ sandbox };
};
struct Started {
    Sandbox sandbox;
    Engine started{ sandbox };
};

#endif
