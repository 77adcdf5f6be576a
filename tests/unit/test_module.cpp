#include "catch.h"

extern "C" {
#include "module.h"
#include "raw.h"
}

TEST_CASE("an address that nothing explains does not have the maps read each time", "[module]")
{
    module_forget();
    uint64_t before = own_io.reads;
    REQUIRE(module_of((uint64_t)&own_io) == nullptr); /* data is no code */
    uint64_t once = own_io.reads - before;
    REQUIRE(once > 0);
    for (int i = 0; i < 20; i++)
        CHECK(module_of(16) == nullptr);
    /* They rest for a thousand times as long as reading them took: for these looks, unless the machine stood still. */
    uint64_t reads = own_io.reads;
    CHECK(reads - before <= 2 * once);
    module_is_opened = true;
    CHECK(module_of(16) == nullptr);
    CHECK(own_io.reads > reads);
    CHECK(module_of((uint64_t)&module_of) != nullptr);
    module_forget();
}
