#include "catch.h"
#include "engine_headers.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

struct Walk {
    std::vector<uint64_t> code, functions;
};

__attribute__((noinline)) Walk walk(unsigned most = UNWIND_FRAMES_MAX)
{
    static unwind_state state;
    static unwind_frame frames[UNWIND_FRAMES_MAX];
    UNWIND_HERE(&state);
    unsigned count = unwind(&state, frames, most);
    Walk found;
    for (unsigned i = 0; i < count; i++) {
        found.code.push_back(frames[i].pc);
        found.functions.push_back(frames[i].function);
    }
    return found;
}

/* Each has a frame of some 3,000 bytes, so that the stack goes over many pages. */
__attribute__((noinline)) Walk walk_below(int frames)
{
    volatile unsigned char room[3000];
    room[0] = room[sizeof room - 1] = static_cast<unsigned char>(frames);
    Walk found = frames > 0 ? walk_below(frames - 1) : walk();
    room[0] = room[sizeof room - 1];
    return found;
}

} // namespace

TEST_CASE("a stack over many pages is walked to its end, and the same by what is remembered", "[unwind]")
{
    fake_system_reset();
    unwind_forget();
    Walk walks[3];
    for (Walk &one : walks)
        one = walk_below(30);
    uint64_t recursive = walks[0].functions[2];
    CHECK(std::count(walks[0].functions.begin(), walks[0].functions.end(), recursive) >= 29);
    CHECK(walks[0].code.size() > 33);
    CHECK(walks[0].functions.back() != 0); /* the program's entry, which nobody called */
    for (const Walk &one : walks) {
        CHECK(one.code == walks[0].code);
        CHECK(one.functions == walks[0].functions);
    }
    CHECK(walk(2).code.size() == 2);
}
