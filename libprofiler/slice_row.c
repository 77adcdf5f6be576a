#include "slice_row.h"

#include "record.h"
#include "state.h"

#include <string.h>

/* Columns that all such rows begin with. */
enum { NUMBER, SLICE };
_Static_assert((int)hardware_number == NUMBER && (int)hardware_slice == SLICE && (int)waits_number == NUMBER && (int)waits_slice == SLICE &&
                   (int)usage_number == NUMBER && (int)usage_slice == SLICE,
               "rows begin alike");

uint64_t *slice_row(struct ledger *ledger, uint64_t *rows, size_t columns, unsigned rows_max, uint64_t slice)
{
    uint32_t place = 0;
    while (place < ledger->used && rows[place * columns + SLICE] != slice)
        place++;
    if (place == ledger->used)
        place = ledger_place(&engine.home, ledger, rows, columns, rows_max);
    if (place == rows_max)
        return NULL;
    uint64_t *row = &rows[place * columns];
    if (row[SLICE] != slice) {
        memset(row, 0, columns * sizeof *row);
        row[NUMBER] = ledger->next_number++;
        row[SLICE] = slice;
    }
    ledger_touch(ledger, place);
    return row;
}
