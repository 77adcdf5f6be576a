/* Threads that insert, take, look up and remove the same keys. An entry is two plain words, which a second owner would tear: for Catch2, which
 * looks at the values, and for ThreadSanitizer, which looks at the accesses. */
#ifndef SLICEWISE_TESTS_KEY_TABLE_THREADS_H
#define SLICEWISE_TESTS_KEY_TABLE_THREADS_H

#include "engine_headers.h"

extern "C" {
#include "key_table.h"
}

#include <thread>
#include <vector>

struct KeyTableThreads {
    static constexpr unsigned PLACES = 256, KEYS = 64;
    struct entry { uint64_t key, twice; };
    struct key_table table = { NULL, PLACES, sizeof(struct entry), 0 };
    uint64_t inserted = 0, removed = 0, torn = 0;

    struct entry *at(unsigned place) { return static_cast<struct entry *>(key_table_entry(&table, place)); }

    void work(unsigned seed, unsigned rounds)
    {
        uint64_t in = 0, out = 0, wrong = 0;
        for (unsigned i = 0; i < rounds; i++) {
            seed = seed * 1664525 + 1013904223;
            uint64_t key = (seed >> 8) % KEYS * 4096;
            unsigned place;
            switch (seed >> 24 & 3) {
            case 0:
                if ((place = key_table_insert(&table, key)) == KEY_TABLE_NONE)
                    break;
                *at(place) = { key, 2 * key };
                key_table_publish(&table, place, key);
                in++;
                break;
            case 1:
                place = key_table_find(&table, key);
                wrong += place != KEY_TABLE_NONE && place >= PLACES;
                break;
            default:
                if ((place = key_table_take(&table, key)) == KEY_TABLE_NONE)
                    break;
                wrong += at(place)->key != key || at(place)->twice != 2 * key;
                *at(place) = { ~0ull, ~0ull };
                if ((seed >> 26 & 1) != 0) {
                    *at(place) = { key, 2 * key };
                    key_table_publish(&table, place, key);
                } else {
                    key_table_remove(&table, place, key);
                    out++;
                }
            }
        }
        __atomic_fetch_add(&inserted, in, __ATOMIC_RELAXED);
        __atomic_fetch_add(&removed, out, __ATOMIC_RELAXED);
        __atomic_fetch_add(&torn, wrong, __ATOMIC_RELAXED);
    }

    /* Returns whether nothing was torn, lost or doubled. */
    bool run(unsigned count, unsigned rounds)
    {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < count; i++)
            threads.emplace_back([this, i, rounds] { work(i * 7919 + 1, rounds); });
        for (std::thread &thread : threads)
            thread.join();
        uint64_t left = 0;
        for (uint64_t key = 0; key < KEYS; key++)
            for (unsigned place; (place = key_table_take(&table, key * 4096)) != KEY_TABLE_NONE; left++)
                key_table_remove(&table, place, key * 4096);
        return torn == 0 && inserted == removed + left && key_table_used(&table) == 0;
    }
};

#endif
