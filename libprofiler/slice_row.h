/* What a process has one row of for each slice beside its calls: hardware events, waits for its turn, what the kernel counts. The caller holds the
 * engine's lock. */
#ifndef SLICEWISE_SLICE_ROW_H
#define SLICEWISE_SLICE_ROW_H

#include "ledger.h"

#include <stddef.h>

/* The slice's row, to be added to, of a ledger's `rows` (each `columns` wide, its number and slice first). What is full is packed. NULL if there is no room. */
uint64_t *slice_row(struct ledger *ledger, uint64_t *rows, size_t columns, unsigned rows_max, uint64_t slice);

#endif
