/* The bounded table by keys: what is inserted is found until it is removed, by one at a time, and by threads as by one. */
#include "catch.h"
#include "key_table_threads.h"

#include <memory>
#include <set>

namespace {

struct Table {
    static constexpr unsigned PLACES = 1024;
    struct key_table table = { NULL, PLACES, sizeof(uint64_t), 0 };

    bool insert(uint64_t key)
    {
        unsigned place = key_table_insert(&table, key);
        if (place != KEY_TABLE_NONE)
            key_table_publish(&table, place, key);
        return place != KEY_TABLE_NONE;
    }
    bool remove(uint64_t key)
    {
        unsigned place = key_table_take(&table, key);
        if (place != KEY_TABLE_NONE)
            key_table_remove(&table, place, key);
        return place != KEY_TABLE_NONE;
    }
};

} // namespace

TEST_CASE("a key is found once it is published, and until it is removed", "[key_table]")
{
    Table table;
    uint64_t key = GENERATE(0ull, 1ull, 4096ull, 0x7ffff7a00000ull, ~0ull, 1ull << 63);
    CHECK(key_table_find(&table.table, key) == KEY_TABLE_NONE);
    unsigned place = key_table_insert(&table.table, key);
    REQUIRE(place < Table::PLACES);
    CHECK(key_table_find(&table.table, key) == KEY_TABLE_NONE);
    CHECK(key_table_is_used(&table.table, place));
    key_table_publish(&table.table, place, key);
    CHECK(key_table_find(&table.table, key) == place);
    CHECK(key_table_take(&table.table, key) == place);
    CHECK(key_table_take(&table.table, key) == KEY_TABLE_NONE);
    CHECK(key_table_find(&table.table, key) == KEY_TABLE_NONE);
    key_table_publish(&table.table, place, key); /* given back */
    CHECK(table.remove(key));
    CHECK_FALSE(table.remove(key));
    CHECK(key_table_used(&table.table) == 0);
    CHECK_FALSE(key_table_is_used(&table.table, place));
}

TEST_CASE("a key that was inserted several times is there as often", "[key_table]")
{
    Table table;
    for (int i = 0; i < 20; i++)
        REQUIRE(table.insert(42));
    for (int i = 0; i < 20; i++)
        CHECK(table.remove(42));
    CHECK_FALSE(table.remove(42));
}

TEST_CASE("most of the places can be used, whatever the keys' pattern, and a refused key leaves nothing", "[key_table]")
{
    Table table;
    uint64_t step = GENERATE(1ull, 64ull, 192ull, 4096ull, 1ull << 21, 1ull << 32);
    std::set<uint64_t> there, again;
    auto fill = [&](std::set<uint64_t> &keys) {
        for (uint64_t i = 0; i < 2 * Table::PLACES; i++)
            if (table.insert(i * step))
                keys.insert(i * step);
    };
    fill(there);
    CHECK(there.size() > Table::PLACES / 2);
    CHECK(key_table_used(&table.table) == there.size());
    for (uint64_t i = 0; i < 2 * Table::PLACES; i++)
        CHECK(table.remove(i * step) == (there.count(i * step) == 1));
    CHECK(key_table_used(&table.table) == 0);
    fill(again);
    CHECK(again == there);
}

TEST_CASE("a table that is cleared is empty", "[key_table]")
{
    Table table;
    for (uint64_t key = 0; key < 100; key++)
        table.insert(key);
    key_table_clear(&table.table);
    CHECK(key_table_used(&table.table) == 0);
    for (uint64_t key = 0; key < 100; key++)
        CHECK_FALSE(table.remove(key));
}

TEST_CASE("threads tear, lose and double no entry", "[key_table]")
{
    auto threads = std::make_unique<KeyTableThreads>();
    CHECK(threads->run(4, 200000));
}
