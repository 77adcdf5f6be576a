/* Memory that lies beside other memory of its kind: none reaches into another's, and giving one back takes nothing of the others. */
#include "catch.h"

#include <cstddef>
#include <cstring>
#include <vector>

extern "C" {
#include "memory.h"
}

namespace {
struct piece {
    unsigned char *begin;
    size_t bytes;
};

bool holds(const piece &piece, unsigned char value)
{
    for (size_t i = 0; i < piece.bytes; i += i + 1 < piece.bytes && piece.bytes - i > 64 ? 61 : 1)
        if (piece.begin[i] != value)
            return false;
    return true;
}
} // namespace

TEST_CASE("memory of the reader is zeroed and nobody else's, also when its neighbours are given back", "[reader]")
{
    const size_t mib = 1 << 20, sizes[] = { 0, 1, mib - 1, mib, mib + 1, 3 * mib, 3 * mib - 4097, 5 * mib + 17, 2 * mib, 2 * mib - 1, 7 * mib / 2 };
    std::vector<piece> pieces;
    for (int round = 0; round < 6; round++)
        for (size_t bytes : sizes) {
            auto *begin = static_cast<unsigned char *>(memory_zeroed(bytes));
            REQUIRE(begin != nullptr);
            pieces.push_back({ begin, bytes });
            REQUIRE(holds(pieces.back(), 0));
            memset(begin, static_cast<int>(pieces.size()), bytes);
        }
    for (size_t first : { 0, 1, 2 }) /* every third, then every third of what is left */
        for (size_t i = first; i < pieces.size(); i += 3) {
            for (size_t other = i; other < pieces.size() && other < i + 4; other++)
                if (pieces[other].begin != nullptr)
                    REQUIRE(holds(pieces[other], static_cast<unsigned char>(other + 1)));
            memory_free(pieces[i].begin, pieces[i].bytes);
            pieces[i].begin = nullptr;
            for (size_t other = 0; other < pieces.size(); other++)
                if (pieces[other].begin != nullptr && other % 7 == i % 7)
                    REQUIRE(holds(pieces[other], static_cast<unsigned char>(other + 1)));
        }
}
