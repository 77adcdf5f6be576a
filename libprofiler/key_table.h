/* A bounded table by 64-bit keys, for any thread and any signal handler: no lock, and no system call after the first key, for which its memory is
 * mapped. It gives each key a place, with an entry in which its user keeps what is known of the key; a process without any
 * key has nothing but this struct.
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
#include <stddef.h>
#include <stdint.h>

struct key_table {
    void *_Atomic memory;             /* entries, then keys, then where searches begin */
    unsigned places;                 /* a power of two */
    unsigned entry_bytes;            /* a multiple of 8 */
    _Atomic uint32_t used;           /* of the places, those that are somebody's between two calls too */
};

/* An initializer of a table with so many places (a power of two), each with an entry of that type. */
#define KEY_TABLE_OF(count, type) { .places = (count), .entry_bytes = (sizeof(type) + 7) / 8 * 8 }
#define KEY_TABLE_NONE (~0u) /* no place */

/* A place for a new entry, which holds what its last owner left; KEY_TABLE_NONE if there is no free one near enough, or no memory. */
unsigned key_table_insert(struct key_table *table, uint64_t key);

/* The entry is there, for everybody. */
void key_table_publish(struct key_table *table, unsigned place, uint64_t key);

/* Takes an entry of that key; KEY_TABLE_NONE if there is none. */
unsigned key_table_take(struct key_table *table, uint64_t key);

/* The entry at a place that was taken is gone. `key`: its key. */
void key_table_remove(struct key_table *table, unsigned place, uint64_t key);

/* Where an entry of that key is, without taking it: it can be removed at any moment, so the entries must be atomic words then. */
unsigned key_table_find(const struct key_table *table, uint64_t key);

/* Whether the place is in use, by whomever. */
bool key_table_is_used(const struct key_table *table, unsigned place);

/* Makes the table empty. For a thread that is alone with it. */
void key_table_clear(struct key_table *table);

/* The entry at a place that key_table_insert, key_table_take or key_table_find gave. */
static inline void *key_table_entry(const struct key_table *table, unsigned place)
{
    unsigned char *first = (unsigned char *)atomic_load_explicit(&table->memory, memory_order_acquire);
    return first + (size_t)place * table->entry_bytes;
}

/* Its place. */
static inline unsigned key_table_place_of(const struct key_table *table, const void *entry)
{
    const unsigned char *first = (const unsigned char *)key_table_entry(table, 0);
    return (unsigned)((size_t)((const unsigned char *)entry - first) / table->entry_bytes);
}

static inline unsigned key_table_used(const struct key_table *table)
{
    return atomic_load_explicit(&table->used, memory_order_relaxed);
}

#endif
