/* A table in the making: rows grouped by source, process and keys (rows.c), then columns filled group by group (columns.c). */
#ifndef SLICEWISE_READER_TABLE_H
#define SLICEWISE_READER_TABLE_H

#include "arrow.h"
#include "inside.h"
#include "text.h"

/* A chunk of the table, and where in `targets` its rows' targets begin. */
struct part_of_table {
    const struct chunk *chunk;
    uint32_t schema;
    size_t first_row;
};

/* The chunks of one source's process. */
struct group {
    uint64_t process;
    size_t first_part, end_part, first_row, rows; /* as they came */
    size_t first_made, made;                      /* rows of the table */
    uint32_t source;
};

/* Where a row goes: its row among those of its group; the last of a key's rows is marked. A row that is left out goes nowhere. */
typedef uint32_t target;
#define TARGET_IS_LAST 0x80000000u
#define TARGET_NONE 0x7fffffffu

/* A column: where its values go, and by schema which place it has. */
struct output {
    const struct reader_column *column;
    uint64_t *numbers;
    struct arrow_view *views;
    struct arrow_view *name_views; /* READER_NAME: of each of column->names */
    struct text_pool texts;        /* READER_TEXT, and READER_NAME's names */
    _Atomic uint64_t bits, high_sum; /* as struct reader_bound */
    bool is_present;
    bool is_by_last; /* the value of a key's last row; else they add up or the greatest stays */
};

struct table {
    struct reader *reader;
    const struct reader_plan *plan;
    struct list parts;   /* struct part_of_table */
    struct list groups;  /* struct group */
    struct list batches; /* struct batch */
    size_t rows, made;
    bool has_names, leaves_out; /* leaves_out: some rows go nowhere */
    const struct reader_column *summed_over; /* a key that the table lacks, or NULL */
    target *targets;
    struct output *outputs;
    int16_t **outputs_of_places; /* by schema: of each place the output, or -1 */
    uint32_t *sources;
    uint64_t *processes;
};

/* Groups that are worked on together. */
struct batch {
    size_t first, end;
};

/* rows.c: fills in the targets of all rows, and how many rows each group makes. Returns 0 or -ENOMEM. */
int rows_group(struct table *table);

/* columns.c: fills all columns. Returns 0 or -ENOMEM. */
int columns_fill(struct table *table);

/* rows.c: a chunk's column by its place; NULL if it has none, or place is -1. */
const struct stored *find_stored(const struct chunk *chunk, int32_t place);

/* The value of a column of numbers in a row. */
static inline uint64_t stored_value(const struct stored *column, uint32_t row)
{
    uint64_t value = 0;
    switch (column->width) {
    case 1: value = column->values[row]; break;
    case 2: value = ((const uint16_t *)(const void *)column->values)[row]; break;
    case 4: value = ((const uint32_t *)(const void *)column->values)[row]; break;
    case 8: value = ((const uint64_t *)(const void *)column->values)[row]; break;
    default: break;
    }
    return column->base + value;
}

/* A schema's number of a name as a place in the column's names. */
static inline uint64_t common_code(const struct reader_column *column, uint32_t schema, uint64_t code)
{
    return code < column->code_counts[schema] ? column->codes[schema][code] : 0;
}

#endif
