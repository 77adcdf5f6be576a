/* Rows of the segment that grow while they are packed again and again, each under its number: a row replaces itself in the file, so that
 * one that is packed twice, or by whoever finishes the segment, counts once. A place is used again when its row is packed and done
 * with, and then has another number. Guarded as the segment is. */
#ifndef SLICEWISE_LEDGER_H
#define SLICEWISE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum { LEDGER_ROWS_MAX = 256 };

struct ledger {
    uint32_t used, next_number;
    uint64_t is_unpacked[LEDGER_ROWS_MAX / 64];
};

static inline bool ledger_is_unpacked(const struct ledger *ledger, uint32_t place)
{
    return (ledger->is_unpacked[place / 64] >> (place % 64) & 1) != 0;
}

static inline void ledger_touch(struct ledger *ledger, uint32_t place)
{
    ledger->is_unpacked[place / 64] |= 1ull << (place % 64);
}

static inline void ledger_packed(struct ledger *ledger)
{
    for (uint32_t i = 0; i < LEDGER_ROWS_MAX / 64; i++)
        ledger->is_unpacked[i] = 0;
}

#endif
