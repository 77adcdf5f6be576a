#include "mapping.h"

enum { PLACES = 1024, REACH = 32 }; /* a mapping lies within REACH places from its hash on */

/* Address 0: free, 1: being changed. */
static struct {
    _Atomic uintptr_t address;
    _Atomic descriptor word;
} places[PLACES];
static const uintptr_t being_changed = 1;

static unsigned place_of(const void *address, unsigned step)
{
    return (unsigned)((uintptr_t)address / PAGE_BYTES * 0x9e3779b97f4a7c15u >> 40) % PLACES + step;
}

static unsigned place_with(const void *address)
{
    for (unsigned step = 0; step < REACH; step++)
        if (atomic_load_explicit(&places[place_of(address, step) % PLACES].address, memory_order_acquire) == (uintptr_t)address)
            return place_of(address, step) % PLACES;
    return PLACES;
}

void mapping_enter(const void *address, descriptor word)
{
    unsigned place = place_with(address); /* still there if it was unmapped unseen */
    for (unsigned step = 0; word != 0 && place == PLACES && step < REACH; step++) {
        unsigned next = place_of(address, step) % PLACES;
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&places[next].address, &found, being_changed))
            place = next;
    }
    if (place == PLACES)
        return;
    atomic_store_explicit(&places[place].word, word, memory_order_relaxed);
    atomic_store_explicit(&places[place].address, (uintptr_t)address, memory_order_release);
}

descriptor mapping_word(const void *address)
{
    unsigned place = place_with(address);
    return place < PLACES ? atomic_load_explicit(&places[place].word, memory_order_relaxed) : 0;
}

descriptor mapping_leave(const void *address)
{
    unsigned place = place_with(address);
    if (address == NULL || place == PLACES)
        return 0;
    descriptor word = atomic_load_explicit(&places[place].word, memory_order_relaxed);
    atomic_store_explicit(&places[place].address, 0, memory_order_release);
    return word;
}
