/* A bounded table by 64-bit keys, for any thread and any signal handler: no lock, no allocation, no system call. It gives each key a place;
 * what is known of the key its user keeps in an array of his own, at that place.
 *
 *     insert -> (write the entry) -> publish          take -> (read it) -> give back with publish, or remove
 *
 * Between these two calls the place is the caller's alone, and nobody else finds the key. A key that was inserted twice is there twice, and
 * each take finds one of the two. Memory order: publish and remove release, the others acquire. So who finds a key sees the entry as it was
 * published, and who gets a place that was removed overwrites what its last owner has done with. A caller that never comes back, since its
 * thread was cancelled, costs that place and no more. */
#ifndef SLICEWISE_KEY_TABLE_H
#define SLICEWISE_KEY_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct key_table {
    _Atomic uint64_t *keys;
    _Atomic uint32_t *begun; /* by place: of how many keys the search begins there. Mostly none, and then the search is over */
    unsigned places;         /* a power of two */
    _Atomic uint32_t used;   /* of them, those that are somebody's between two calls too */
};

/* An initializer of a table with so many places (a power of two). */
#define KEY_TABLE_OF(count) { .keys = (_Atomic uint64_t[count]){ 0 }, .begun = (_Atomic uint32_t[count]){ 0 }, .places = (count) }
#define KEY_TABLE_NONE (~0u) /* no place */

/* A place for a new entry; KEY_TABLE_NONE if there is no free one near enough. */
unsigned key_table_insert(struct key_table *table, uint64_t key);

/* The entry is there, for everybody. */
void key_table_publish(struct key_table *table, unsigned place, uint64_t key);

/* Takes an entry of that key; KEY_TABLE_NONE if there is none. */
unsigned key_table_take(struct key_table *table, uint64_t key);

/* The entry at a place that was taken is gone. `key`: its key. */
void key_table_remove(struct key_table *table, unsigned place, uint64_t key);

/* Where an entry of that key is, without taking it: it can be removed at any moment, so its user's array must be of atomic words. */
unsigned key_table_find(const struct key_table *table, uint64_t key);

/* Whether the place is in use, by whomever. */
bool key_table_is_used(const struct key_table *table, unsigned place);

/* Makes the table empty. For a thread that is alone with it. */
void key_table_clear(struct key_table *table);

static inline unsigned key_table_used(const struct key_table *table)
{
    return atomic_load_explicit(&table->used, memory_order_relaxed);
}

#endif
