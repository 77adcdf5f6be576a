/* Rows of a chunk added up over keys that only some tables of the reading tell apart. What a job did in sum has many columns (its bins), and
 * rows of every slice with all of them would take more memory than all else. Only rows of one frame are added up, since it is not known yet
 * which frames count. Rows may be left apart: tables add them up in any case (rows.c). */
#include "inside.h"

#include <string.h>

/* A chunk with more different keys than this stays as it is. */
enum { SUMS_MAX = 32 };

/* Adds values of `width` bytes each, which need not be aligned; little-endian, as all that is in a file. */
static inline void add_each(uint64_t *values, const unsigned char *bytes, uint32_t rows, size_t width)
{
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t value = 0;
        memcpy(&value, bytes + (size_t)row * width, width);
        values[row] += value;
    }
}

/* A column's values. Each width is a loop of its own, for the compiler to know it. */
static void widen(const struct stored *column, uint32_t rows, uint64_t *values)
{
    for (uint32_t row = 0; row < rows; row++)
        values[row] = column->base;
    switch (column->width) {
    case 1: add_each(values, column->values, rows, 1); break;
    case 2: add_each(values, column->values, rows, 2); break;
    case 4: add_each(values, column->values, rows, 4); break;
    case 8: add_each(values, column->values, rows, 8); break;
    default: break;
    }
}

/* Tells rows apart by one more key. Returns how many sums there are then, or 0 if they are too many. */
static unsigned part_by_key(const uint64_t *keys, uint32_t rows, uint8_t *sum_of_row)
{
    uint64_t keys_of_sums[SUMS_MAX];
    uint8_t before[SUMS_MAX];
    unsigned sums = 0, found = 0;
    for (uint32_t row = 0; row < rows; row++) {
        if (sums == 0 || before[found] != sum_of_row[row] || keys_of_sums[found] != keys[row]) {
            for (found = 0; found < sums && (before[found] != sum_of_row[row] || keys_of_sums[found] != keys[row]);)
                found++;
            if (found == sums) {
                if (sums == SUMS_MAX)
                    return 0;
                before[sums] = sum_of_row[row];
                keys_of_sums[sums++] = keys[row];
            }
        }
        sum_of_row[row] = (uint8_t)found;
    }
    return sums;
}

/* The sums of a column, or its greatest values. */
static void add_up(const uint64_t *values, const uint8_t *sum_of_row, uint32_t rows, bool adds_up, uint64_t *sums)
{
    memset(sums, 0, SUMS_MAX * sizeof *sums);
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t *sum = &sums[sum_of_row[row]];
        *sum = adds_up ? number_sum(*sum, values[row]) : values[row] > *sum ? values[row] : *sum;
    }
}

/* Stores numbers as narrow as they fit. False if there is no memory. */
static bool store(struct worker *worker, const uint64_t *numbers, unsigned count, struct stored *column)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    uint64_t range = most - least;
    unsigned width = range == 0 ? 0 : range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
    *column = (struct stored){ .base = least, .width = (uint8_t)width, .place = column->place };
    if (width == 0)
        return true;
    unsigned char *kept = arena_take(&worker->arena, (size_t)width * count);
    if (kept == NULL)
        return false;
    column->values = kept;
    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = numbers[i] - least;
        memcpy(kept + (size_t)i * width, &offset, width); /* little-endian, as the format is */
    }
    return true;
}

bool reduce_rows(struct worker *worker, const struct table_layout *table, const struct stored *columns, unsigned count, uint32_t rows,
                 struct chunk **into)
{
    uint64_t *values = scratch_take(&worker->scratches[SCRATCH_KEYS], (size_t)rows * sizeof *values);
    uint8_t *sum_of_row = scratch_take(&worker->scratches[SCRATCH_PACKED], rows);
    if (values == NULL || sum_of_row == NULL)
        return false;
    unsigned sums = 1, reduced = 0;
    memset(sum_of_row, 0, rows);
    for (unsigned i = 0; i < count; i++)
        reduced += (table->flags[columns[i].place] & READER_REDUCED) != 0;
    for (unsigned i = 0; i < count && sums > 0; i++) {
        if (!(table->flags[columns[i].place] & READER_REDUCED_KEY) || columns[i].width == 0)
            continue;
        widen(&columns[i], rows, values);
        sums = part_by_key(values, rows, sum_of_row);
    }
    if (sums == 0)
        return true;
    struct chunk *chunk = arena_take(&worker->arena, sizeof *chunk + reduced * sizeof *chunk->columns);
    if (chunk == NULL)
        return false;
    *chunk = (struct chunk){ .rows = sums };
    for (unsigned i = 0; i < count; i++) {
        uint8_t flags = table->flags[columns[i].place];
        uint64_t numbers[SUMS_MAX];
        if (!(flags & READER_REDUCED))
            continue;
        widen(&columns[i], rows, values);
        add_up(values, sum_of_row, rows, (flags & READER_REDUCED_SUM) != 0, numbers);
        struct stored *column = &chunk->columns[chunk->column_count++];
        column->place = columns[i].place;
        if (!store(worker, numbers, sums, column))
            return false;
    }
    *into = chunk;
    return true;
}
