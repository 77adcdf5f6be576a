#include "mapping.h"

#include "key_table.h"

enum { MAPPINGS_MAX = 1024 };

static struct key_table table = KEY_TABLE_OF(MAPPINGS_MAX, descriptor);

static _Atomic descriptor *at(unsigned place)
{
    return key_table_entry(&table, place);
}

static uint64_t key_of(const void *address)
{
    return (uint64_t)(uintptr_t)address / PAGE_BYTES;
}

void mapping_enter(const void *address, descriptor word)
{
    unsigned place = key_table_take(&table, key_of(address)); /* still there if it was unmapped unseen */
    if (place == KEY_TABLE_NONE && word != 0)
        place = key_table_insert(&table, key_of(address));
    if (place == KEY_TABLE_NONE)
        return;
    atomic_store_explicit(at(place), word, memory_order_relaxed);
    key_table_publish(&table, place, key_of(address));
}

descriptor mapping_word(const void *address)
{
    unsigned place = key_table_find(&table, key_of(address));
    return place != KEY_TABLE_NONE ? atomic_load_explicit(at(place), memory_order_relaxed) : 0;
}

descriptor mapping_leave(const void *address)
{
    unsigned place = key_table_take(&table, key_of(address));
    if (place == KEY_TABLE_NONE)
        return 0;
    descriptor word = atomic_load_explicit(at(place), memory_order_relaxed);
    key_table_remove(&table, place, key_of(address));
    return word;
}
