#include "key_table.h"

enum { REACH = 64 }; /* a key lies within so many places from its home on */

/* What stands in the place of a key. Keys are stored changed, so that 0 and 1, which may well be keys, are not these two. */
static const uint64_t is_free = 0, is_somebodys = 1;

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
        uint64_t found = atomic_load_explicit(&table->keys[place], memory_order_relaxed);
        if (found == from &&
            atomic_compare_exchange_strong_explicit(&table->keys[place], &found, is_somebodys, memory_order_acquire, memory_order_relaxed))
            return place;
    }
    return KEY_TABLE_NONE;
}

static bool is_known(const struct key_table *table, unsigned home, uint64_t key)
{
    return atomic_load_explicit(&table->begun[home], memory_order_relaxed) != 0 && stored(key) > is_somebodys;
}

static void forget(struct key_table *table, unsigned home)
{
    atomic_fetch_sub_explicit(&table->begun[home], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&table->used, 1, memory_order_relaxed);
}

/* Both counts grow first and shrink last: they are never less than what is there, whenever a process forks. */
unsigned key_table_insert(struct key_table *table, uint64_t key)
{
    if (stored(key) <= is_somebodys)
        return KEY_TABLE_NONE;
    unsigned home = home_of(table, key);
    atomic_fetch_add_explicit(&table->begun[home], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
    unsigned place = claim(table, home, is_free);
    if (place == KEY_TABLE_NONE)
        forget(table, home);
    return place;
}

void key_table_publish(struct key_table *table, unsigned place, uint64_t key)
{
    atomic_store_explicit(&table->keys[place], stored(key), memory_order_release);
}

unsigned key_table_take(struct key_table *table, uint64_t key)
{
    unsigned home = home_of(table, key);
    return is_known(table, home, key) ? claim(table, home, stored(key)) : KEY_TABLE_NONE;
}

void key_table_remove(struct key_table *table, unsigned place, uint64_t key)
{
    atomic_store_explicit(&table->keys[place], is_free, memory_order_release);
    forget(table, home_of(table, key));
}

unsigned key_table_find(const struct key_table *table, uint64_t key)
{
    unsigned home = home_of(table, key);
    for (unsigned step = 0; step < REACH && is_known(table, home, key); step++) {
        unsigned place = (home + step) & (table->places - 1);
        if (atomic_load_explicit(&table->keys[place], memory_order_acquire) == stored(key))
            return place;
    }
    return KEY_TABLE_NONE;
}

bool key_table_is_used(const struct key_table *table, unsigned place)
{
    return atomic_load_explicit(&table->keys[place], memory_order_acquire) != is_free;
}

void key_table_clear(struct key_table *table)
{
    for (unsigned place = 0; place < table->places; place++) {
        atomic_store_explicit(&table->keys[place], is_free, memory_order_relaxed);
        atomic_store_explicit(&table->begun[place], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&table->used, 0, memory_order_relaxed);
}
