#include "encode.h"

#include "format.h"

#include <string.h>

enum column_type { TYPE_NONE, TYPE_U64, TYPE_I64, TYPE_ENUM, TYPE_STRING };

/* For every table an entry of its own, then its columns: as enum table_start numbers them. */
static const unsigned char column_types[] = {
#define TABLE(name, rows, meaning) TYPE_NONE,
#define COLUMN(table, name, type, ...) TYPE_##type,
#include "tables.def"
};

static const unsigned table_starts[] = {
#define TABLE(name, rows, meaning) TABLE_START_##name,
#define COLUMN(table, name, ...)
#include "tables.def"
    TABLE_START_end,
};

/* One column, gathered from its rows. Static: packing can happen on a signal handler's small stack. Guarded as the segment is. */
static uint64_t values[FILES_MAX];
_Static_assert(FILES_MAX >= (int)RECORDS_MAX && FILES_MAX >= (int)MOUNTS_MAX && FILES_MAX >= (int)OPERATIONS, "it holds every table's column");

static unsigned char *claim(struct encoder *encoder, size_t bytes)
{
    if ((size_t)(encoder->end - encoder->at) < bytes) {
        encoder->is_overflowing = true;
        encoder->at = encoder->begin;
    }
    unsigned char *claimed = encoder->at;
    if (encoder->begin + bytes <= encoder->end)
        encoder->at += bytes;
    return claimed;
}

/* Begins a chunk. Returns its bits of present columns. */
static unsigned char *begin_chunk(struct encoder *encoder, enum table table, unsigned count, unsigned columns)
{
    unsigned char *head = claim(encoder, 5 + (columns + 7) / 8);
    uint32_t rows = count;
    head[0] = (unsigned char)table;
    memcpy(head + 1, &rows, sizeof rows);
    memset(head + 5, 0, (columns + 7) / 8);
    return head + 5;
}

static unsigned width_of(uint64_t range)
{
    return range == 0 ? 0 : range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
}

/* Writes a column unless it is all zeros. Returns whether it did. */
static bool encode_numbers(struct encoder *encoder, unsigned count)
{
    uint64_t least = values[0], most = values[0];
    for (unsigned i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (most == 0)
        return false;
    /* A base costs 8 bytes once: it must save more than that. */
    unsigned bare_width = width_of(most), based_width = width_of(most - least);
    bool has_base = 8 + (size_t)based_width * count < (size_t)bare_width * count;
    unsigned width = has_base ? based_width : bare_width;
    uint64_t base = has_base ? least : 0;
    unsigned char *out = claim(encoder, 1 + (has_base ? 8 : 0) + (size_t)width * count);
    if (encoder->is_overflowing)
        return false;
    *out++ = (unsigned char)(width | (has_base ? FORMAT_HAS_BASE : 0));
    if (has_base) {
        memcpy(out, &base, 8);
        out += 8;
    }
    for (unsigned i = 0; i < count; i++, out += width) {
        uint64_t value = values[i] - base;
        memcpy(out, &value, width);
    }
    return true;
}

static bool encode_strings(struct encoder *encoder, const struct segment *segment, unsigned count)
{
    bool is_empty = true;
    for (unsigned i = 0; i < count; i++)
        is_empty = is_empty && values[i] == 0;
    if (is_empty)
        return false;
    for (unsigned i = 0; i < count; i++) {
        uint16_t length = (uint16_t)strnlen(segment_text(segment, values[i]), UINT16_MAX);
        memcpy(claim(encoder, sizeof length), &length, sizeof length);
    }
    for (unsigned i = 0; i < count; i++) {
        size_t length = strnlen(segment_text(segment, values[i]), UINT16_MAX);
        unsigned char *out = claim(encoder, length);
        if (!encoder->is_overflowing)
            memcpy(out, segment_text(segment, values[i]), length);
    }
    return true;
}

void encode_table(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *rows, unsigned count)
{
    if (count == 0)
        return;
    const unsigned char *types = column_types + table_starts[table] + 1;
    unsigned columns = table_starts[table + 1] - table_starts[table] - 1;
    unsigned char *present = begin_chunk(encoder, table, count, columns);
    for (unsigned column = 0; column < columns && !encoder->is_overflowing; column++) {
        for (unsigned i = 0; i < count; i++)
            values[i] = rows[i * columns + column];
        if (types[column] == TYPE_STRING ? encode_strings(encoder, segment, count) : encode_numbers(encoder, count))
            present[column / 8] |= (unsigned char)(1u << (column % 8));
    }
}

static uint64_t record_value(const struct record *record, unsigned column)
{
    switch (column) {
    case slices_mount:
        return record->mount;
    case slices_layer:
        return record->layer;
    case slices_slice:
        return record->slice;
    default:
        column -= SLICE_KEYS;
        return column < COUNTERS ? record->counts.counter[column] : record->counts.bin[column - COUNTERS];
    }
}

void encode_records(struct encoder *encoder, const struct record *records, unsigned count)
{
    if (count == 0)
        return;
    const unsigned columns = SLICE_KEYS + COUNTERS + ALL_BINS;
    unsigned char *present = begin_chunk(encoder, TABLE_slices, count, columns);
    for (unsigned column = 0; column < columns && !encoder->is_overflowing; column++) {
        for (unsigned i = 0; i < count; i++)
            values[i] = record_value(&records[i], column);
        if (encode_numbers(encoder, count))
            present[column / 8] |= (unsigned char)(1u << (column % 8));
    }
}
