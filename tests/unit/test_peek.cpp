#include "catch.h"
#include "engine_headers.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
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
    return ::peek(reinterpret_cast<uintptr_t>(from), to, bytes);
}

/* A text whose last byte, a 0 or not, is the last one that can be read. */
const char *text_before(const Pages &pages, const std::string &text, size_t bytes)
{
    return static_cast<const char *>(memcpy(pages.end() - bytes, text.c_str(), bytes));
}

int is_over;

void *take_away(void *page)
{
    while (__atomic_load_n(&is_over, 0) == 0) {
        mprotect(page, page_bytes, PROT_NONE);
        mprotect(page, page_bytes, PROT_READ);
    }
    return nullptr;
}

} // namespace

TEST_CASE("memory is read as it is, over the ends of pages and however much it is", "[peek]")
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

TEST_CASE("memory that cannot be read to its end is not read", "[peek]")
{
    Pages pages(8);
    unsigned char read[8 * page_bytes];
    CHECK(peek(pages.end() - 8, read, 8));
    CHECK_FALSE(peek(pages.end() - 8, read, 9));
    CHECK_FALSE(peek(pages.end() - 6 * page_bytes, read, 6 * page_bytes + 1));
    CHECK_FALSE(peek(pages.end(), read, 1));
    CHECK_FALSE(peek(nullptr, read, 8));
    CHECK_FALSE(::peek(UINT64_MAX - 3, read, 8));
}

TEST_CASE("a text is read to its 0, and no text runs out of what can be read", "[peek]")
{
    Pages pages(3);
    for (size_t length : { size_t(0), size_t(1), size_t(255), size_t(256), size_t(257), size_t(5000) }) {
        std::string text(length, 'a');
        std::vector<char> read(6000, 'x');
        CHECK(peek_text(text_before(pages, text, length + 1), read.data(), read.size()) == static_cast<long>(length));
        CHECK(text == read.data());
        CHECK(peek_text(text_before(pages, text, length), read.data(), read.size()) == -1);
    }
    char small[8];
    CHECK(peek_text("1234567", small, sizeof small) == 7);
    CHECK(peek_text("12345678", small, sizeof small) == -1);
    CHECK(peek_text(nullptr, small, sizeof small) == -1);
    CHECK(peek_text(reinterpret_cast<const char *>(-1), small, sizeof small) == -1);
}

TEST_CASE("what can be read is told without a copy", "[peek]")
{
    Pages pages(4);
    auto can_read = [](const void *address, size_t bytes) {
        peek_pages none = {};
        return peek_can_read(&none, address, bytes);
    };
    CHECK(can_read(pages.begin, 3 * page_bytes));
    CHECK_FALSE(can_read(pages.begin, 3 * page_bytes + 1));
    CHECK(can_read(pages.end() - 1, 1));
    CHECK_FALSE(can_read(pages.end() - 1, 2));
    CHECK_FALSE(can_read(pages.end(), 8));
    CHECK_FALSE(can_read(nullptr, 1));
    CHECK_FALSE(can_read(reinterpret_cast<const void *>(-1), 1));
    CHECK_FALSE(can_read(reinterpret_cast<const void *>(-8), 8));
    CHECK(can_read(nullptr, 0));
    sigset_t before, after;
    sigprocmask(SIG_BLOCK, nullptr, &before);
    CHECK(can_read(pages.begin, 8));
    sigprocmask(SIG_BLOCK, nullptr, &after);
    CHECK(memcmp(&before, &after, 8) == 0);
}

TEST_CASE("the length of a text is told where it has an end", "[peek]")
{
    Pages pages(3);
    peek_pages known = {};
    for (size_t length : { size_t(0), size_t(1), size_t(4095), size_t(4096), size_t(8000) }) {
        std::string text(length, 'a');
        CHECK(peek_length(&known, text_before(pages, text, length + 1)) == static_cast<long>(length));
        CHECK(peek_length(&known, text_before(pages, text, length)) == -1);
    }
    CHECK(peek_length(&known, nullptr) == -1);
    CHECK(peek_length(&known, reinterpret_cast<const char *>(-1)) == -1);
}

TEST_CASE("another thread that takes the memory away is no harm", "[peek]")
{
    Pages pages(2);
    char text[64];
    strcpy(reinterpret_cast<char *>(pages.begin), "text");
    pthread_t other;
    is_over = 0;
    REQUIRE(pthread_create(&other, nullptr, take_away, pages.begin) == 0);
    for (int i = 0; i < 20000; i++) {
        long length = peek_text(reinterpret_cast<const char *>(pages.begin), text, sizeof text);
        REQUIRE((length == 4 || length == -1));
    }
    __atomic_store_n(&is_over, 1, 0);
    pthread_join(other, nullptr);
}
