#include "key_table.h"

#include "sparse.h"

enum { REACH = 64 }; /* a key lies within so many places from its home on */

/* What stands in the place of a key. Keys are stored changed, so that 0 and 1, which may well be keys, are not these two. */
static const uint64_t is_free = 0, is_somebodys = 1;

/* Keys lie behind the entries. */
static _Atomic uint64_t *key_at(const struct key_table *table, unsigned place)
{
    return (_Atomic uint64_t *)key_table_entry(table, table->places) + place;
}

/* Behind the keys, by place: of how many keys the search begins there. Mostly none, and then the search is over. */
static _Atomic uint32_t *begun_at(const struct key_table *table, unsigned home)
{
    return (_Atomic uint32_t *)key_at(table, table->places) + home;
}

static bool has_memory(const struct key_table *table)
{
    return atomic_load_explicit(&table->memory, memory_order_acquire) != NULL;
}

static bool map_memory(struct key_table *table)
{
    return sparse_once(&table->memory, (size_t)table->places * (table->entry_bytes + sizeof(uint64_t) + sizeof(uint32_t))) != NULL;
}

static uint64_t stored(uint64_t key)
{
    return key ^ 0x5bf0a8b1a7c3e96du;
}

/* By the upper bits of a product with the golden ratio: keys at equal distances, as addresses are, come to lie at equal distances again. */
static unsigned home_of(const struct key_table *table, uint64_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u >> 32) * table->places >> 32);
}

/* Changes the first place within reach that holds `from` to the caller's own. */
static unsigned claim(struct key_table *table, unsigned home, uint64_t from)
{
    for (unsigned step = 0; step < REACH; step++) {
        unsigned place = (home + step) & (table->places - 1);
        uint64_t found = atomic_load_explicit(key_at(table, place), memory_order_relaxed);
        if (found == from &&
            atomic_compare_exchange_strong_explicit(key_at(table, place), &found, is_somebodys, memory_order_acquire, memory_order_relaxed))
            return place;
    }
    return KEY_TABLE_NONE;
}

static bool is_known(const struct key_table *table, unsigned home, uint64_t key)
{
    return has_memory(table) && atomic_load_explicit(begun_at(table, home), memory_order_relaxed) != 0 && stored(key) > is_somebodys;
}

static void forget(struct key_table *table, unsigned home)
{
    atomic_fetch_sub_explicit(begun_at(table, home), 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&table->used, 1, memory_order_relaxed);
}

/* Both counts grow first and shrink last: they are never less than what is there, whenever a process forks. */
unsigned key_table_insert(struct key_table *table, uint64_t key)
{
    if (stored(key) <= is_somebodys || !map_memory(table))
        return KEY_TABLE_NONE;
    unsigned home = home_of(table, key);
    atomic_fetch_add_explicit(begun_at(table, home), 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
    unsigned place = claim(table, home, is_free);
    if (place == KEY_TABLE_NONE)
        forget(table, home);
    return place;
}

void key_table_publish(struct key_table *table, unsigned place, uint64_t key)
{
    atomic_store_explicit(key_at(table, place), stored(key), memory_order_release);
}

unsigned key_table_take(struct key_table *table, uint64_t key)
{
    unsigned home = home_of(table, key);
    return is_known(table, home, key) ? claim(table, home, stored(key)) : KEY_TABLE_NONE;
}

void key_table_remove(struct key_table *table, unsigned place, uint64_t key)
{
    atomic_store_explicit(key_at(table, place), is_free, memory_order_release);
    forget(table, home_of(table, key));
}

unsigned key_table_find(const struct key_table *table, uint64_t key)
{
    unsigned home = home_of(table, key);
    for (unsigned step = 0; step < REACH && is_known(table, home, key); step++) {
        unsigned place = (home + step) & (table->places - 1);
        if (atomic_load_explicit(key_at(table, place), memory_order_acquire) == stored(key))
            return place;
    }
    return KEY_TABLE_NONE;
}

bool key_table_is_used(const struct key_table *table, unsigned place)
{
    return has_memory(table) && atomic_load_explicit(key_at(table, place), memory_order_acquire) != is_free;
}

void key_table_clear(struct key_table *table)
{
    for (unsigned place = 0; has_memory(table) && place < table->places; place++) {
        atomic_store_explicit(key_at(table, place), is_free, memory_order_relaxed);
        atomic_store_explicit(begun_at(table, place), 0, memory_order_relaxed);
    }
    atomic_store_explicit(&table->used, 0, memory_order_relaxed);
}
