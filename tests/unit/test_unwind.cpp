#include "catch.h"
#include "engine_headers.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace {

const size_t page_bytes = 4096;

/* Pages of numbers, of which the last one cannot be read. */
class Pages {
public:
    explicit Pages(size_t pages)
        : bytes(pages * page_bytes), begin(static_cast<unsigned char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        for (size_t i = 0; i < bytes; i++)
            begin[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
        mprotect(end(), page_bytes, PROT_NONE);
    }
    ~Pages() { munmap(begin, bytes); }
    unsigned char *end() const { return begin + bytes - page_bytes; }

    size_t bytes;
    unsigned char *begin;
};

bool peek(const unsigned char *from, void *to, size_t bytes)
{
    return unwind_peek(reinterpret_cast<uintptr_t>(from), to, bytes);
}

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

TEST_CASE("memory is read as it is, over the ends of pages and however much it is", "[unwind]")
{
    Pages pages(12);
    std::vector<unsigned char> read(pages.bytes);
    for (size_t bytes : { size_t(1), size_t(12), page_bytes, 2 * page_bytes, 5 * page_bytes + 100 })
        for (size_t from : { size_t(0), size_t(page_bytes - 4), size_t(page_bytes - 1), size_t(page_bytes + 7) }) {
            std::fill(read.begin(), read.end(), 0);
            REQUIRE(peek(pages.begin + from, read.data(), bytes));
            CHECK(memcmp(read.data(), pages.begin + from, bytes) == 0);
            CHECK(read[bytes] == 0);
        }
}

TEST_CASE("memory that cannot be read to its end is not read", "[unwind]")
{
    Pages pages(8);
    unsigned char read[8 * page_bytes];
    CHECK(peek(pages.end() - 8, read, 8));
    CHECK_FALSE(peek(pages.end() - 8, read, 9));
    CHECK_FALSE(peek(pages.end() - 6 * page_bytes, read, 6 * page_bytes + 1));
    CHECK_FALSE(peek(pages.end(), read, 1));
    CHECK_FALSE(peek(nullptr, read, 8));
    CHECK_FALSE(unwind_peek(UINT64_MAX - 3, read, 8));
}

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
