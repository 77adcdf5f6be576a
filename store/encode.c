#include "encode.h"

#include "format.h"
#include "sections.h"
#include "sha256.h"
#include "text.h"

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

static const unsigned char is_named[sizeof column_types] = {
#define NAMED(table, column) [TABLE_PLACE_##table##_##column] = 1,
#include "contract.def"
};

/* One column, gathered from its rows. Static: packing can happen on a signal handler's small stack. Guarded as the segment is. */
static HOME_TAIL uint64_t values[FILES_MAX];
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

static inline void put_numbers(unsigned char *out, unsigned count, uint64_t base, unsigned width)
{
    for (unsigned i = 0; i < count; i++, out += width) {
        uint64_t value = values[i] - base;
        memcpy(out, &value, width);
    }
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
    switch (width) { /* each a loop that the compiler knows the width of */
    case 1: put_numbers(out, count, base, 1); break;
    case 2: put_numbers(out, count, base, 2); break;
    case 4: put_numbers(out, count, base, 4); break;
    default: put_numbers(out, count, base, width); break;
    }
    return true;
}

enum { HASH_DIGITS = 16 };

/* What goes into the profile of a path, of which `hashed` has room for the digits that stand for it. */
static const char *masked(const struct segment *segment, const char *path, char hashed[HASH_DIGITS + 1])
{
    if (segment->names == NAMES_full || path[0] == '\0')
        return path;
    if (segment->names == NAMES_base)
        return text_last_part(path);
    uint8_t code[SHA256_BYTES];
    hmac_sha256(segment->names_key, path, strnlen(path, UINT16_MAX), code);
    for (unsigned i = 0; i < HASH_DIGITS; i++)
        hashed[i] = "0123456789abcdef"[code[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    hashed[HASH_DIGITS] = '\0';
    return hashed;
}

static bool encode_strings(struct encoder *encoder, const struct segment *segment, unsigned count, bool is_masked)
{
    char hashed[HASH_DIGITS + 1];
    bool is_empty = true;
    for (unsigned i = 0; i < count; i++)
        is_empty = is_empty && values[i] == 0;
    if (is_empty)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const char *text = segment_text(segment, values[i]);
        uint16_t length = (uint16_t)strnlen(is_masked ? masked(segment, text, hashed) : text, UINT16_MAX);
        memcpy(claim(encoder, sizeof length), &length, sizeof length);
    }
    for (unsigned i = 0; i < count; i++) {
        const char *text = segment_text(segment, values[i]);
        if (is_masked)
            text = masked(segment, text, hashed);
        size_t length = strnlen(text, UINT16_MAX);
        unsigned char *out = claim(encoder, length);
        if (!encoder->is_overflowing)
            memcpy(out, text, length);
    }
    return true;
}

unsigned encode_columns(enum table table)
{
    return table_starts[table + 1] - table_starts[table] - 1;
}

void encode_rows(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *const *rows, unsigned count)
{
    if (count == 0)
        return;
    const unsigned char *types = column_types + table_starts[table] + 1, *named = is_named + table_starts[table] + 1;
    bool is_masking = segment->names != NAMES_full;
    unsigned columns = encode_columns(table);
    unsigned char *present = begin_chunk(encoder, table, count, columns);
    for (unsigned column = 0; column < columns && !encoder->is_overflowing; column++) {
        for (unsigned i = 0; i < count; i++)
            values[i] = rows[i][column];
        if (types[column] == TYPE_STRING ? encode_strings(encoder, segment, count, is_masking && named[column]) : encode_numbers(encoder, count))
            present[column / 8] |= (unsigned char)(1u << (column % 8));
    }
}

void encode_table(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *rows, unsigned count)
{
    static const uint64_t *many[sizeof values / sizeof *values];
    const uint64_t *few[16], **each = count <= sizeof few / sizeof *few ? few : many; /* the stack may be a signal handler's small one */
    for (unsigned i = 0; i < count; i++)
        each[i] = rows + (size_t)i * encode_columns(table);
    encode_rows(encoder, segment, table, each, count);
}

enum merge { MERGE_SUM, MERGE_MAX };

/* How records of one key add up: of bins always by sum. */
static const enum merge counter_merges[COUNTERS] = {
#define COUNTER(name, unit, merge, meaning) MERGE_##merge,
#define BINS(name, bins, unit, merge, meaning, edges)
#include "counters.def"
};
#define COUNTER(name, unit, merge, meaning)
#define BINS(name, bins, unit, merge, meaning, edges) _Static_assert(MERGE_##merge == MERGE_SUM, #name);
#include "counters.def"

enum { NO_ROW = RECORDS_MAX }; /* of a record that is no I/O */

/* Which row each record adds to: those of one slice, mount and layer, as of a process's threads, are one. Returns how many rows there are. */
static unsigned assign_rows(const struct record *records, unsigned count, unsigned char *row_of, unsigned char *first_of)
{
    unsigned rows = 0;
    for (unsigned i = count; i-- > 0;) {
        const struct record *record = &records[i];
        if (record->layer >= RECORD_COMMUNICATION) {
            row_of[i] = NO_ROW;
            continue;
        }
        unsigned row = 0;
        while (row < rows && (records[first_of[row]].slice != record->slice || records[first_of[row]].mount != record->mount ||
                              records[first_of[row]].layer != record->layer))
            row++;
        if (row == rows)
            first_of[rows++] = (unsigned char)i;
        row_of[i] = (unsigned char)row;
    }
    return rows;
}

static void gather_counter(const struct record *records, unsigned count, const unsigned char *row_of, unsigned counter)
{
    bool is_sum = counter_merges[counter] == MERGE_SUM;
    for (unsigned i = 0; i < count; i++) {
        if (row_of[i] == NO_ROW)
            continue;
        uint64_t *sum = &values[row_of[i]], value = records[i].counts.counter[counter];
        *sum = is_sum ? *sum + value : value > *sum ? value : *sum;
    }
}

static void gather_bin(const struct record *records, unsigned count, const unsigned char *row_of, unsigned bin)
{
    for (unsigned i = 0; i < count; i++)
        if (row_of[i] != NO_ROW)
            values[row_of[i]] += records[i].counts.bin[bin];
}

/* The bits that any record has: most columns are nobody's. */
static struct counts bits_of(const struct record *records, unsigned count)
{
    struct counts any = { 0 };
    for (unsigned i = 0; i < count; i++) {
        if (records[i].layer >= RECORD_COMMUNICATION)
            continue;
        for (unsigned counter = 0; counter < COUNTERS; counter++)
            any.counter[counter] |= records[i].counts.counter[counter];
        for (unsigned bin = 0; bin < ALL_BINS; bin++)
            any.bin[bin] |= records[i].counts.bin[bin];
    }
    return any;
}

static void gather_key(const struct record *records, unsigned rows, const unsigned char *first_of, unsigned column)
{
    for (unsigned row = 0; row < rows; row++) {
        const struct record *record = &records[first_of[row]];
        values[row] = column == slices_mount ? record->mount : column == slices_layer ? record->layer : record->slice;
    }
}

/* Rows of one slice and class are one: a process's threads may all communicate. `rows`: so many so far. Returns how many there are then. */
static unsigned add_communication(uint64_t rows[][COMMUNICATION_COLUMNS], unsigned count, uint64_t slice, unsigned class,
                                  const struct communicated *communicated)
{
    unsigned row = 0;
    while (row < count && (rows[row][communication_slice] != slice || rows[row][communication_class] != class))
        row++;
    if (row == count)
        memcpy(rows[count++], (uint64_t[COMMUNICATION_COLUMNS]){ slice, class }, sizeof rows[0]);
    rows[row][communication_calls] += communicated->calls;
    rows[row][communication_ns] += communicated->ns;
    rows[row][communication_bytes] += communicated->bytes;
    return count;
}

_Static_assert((int)THREAD_WAIT_COLUMNS == (int)COMMUNICATION_COLUMNS && (int)thread_waits_slice == (int)communication_slice &&
                   (int)thread_waits_kind == (int)communication_class && (int)thread_waits_waits == (int)communication_calls &&
                   (int)thread_waits_ns == (int)communication_ns && (int)thread_waits_main_ns == (int)communication_bytes,
               "both tables have rows of one form");
_Static_assert((int)ACCELERATED_COLUMNS == (int)COMMUNICATION_COLUMNS && (int)accelerated_slice == (int)communication_slice &&
                   (int)accelerated_kind == (int)communication_class && (int)accelerated_times == (int)communication_calls &&
                   (int)accelerated_ns == (int)communication_ns && (int)accelerated_bytes == (int)communication_bytes,
               "so has this one");

static void encode_classes(struct encoder *encoder, const struct segment *segment, enum table table, uint32_t layer, const struct record *records,
                           unsigned count)
{
    enum { ROWS = 16 * MPI_CLASSES };
    static uint64_t rows[ROWS][COMMUNICATION_COLUMNS];
    unsigned used = 0;
    for (unsigned i = count; i-- > 0;) {
        const struct record *record = &records[i];
        for (unsigned class = 0; class < MPI_CLASSES && record->layer == layer; class++)
            if ((record->communicated[class].calls | record->communicated[class].ns) != 0)
                used = add_communication(rows, used, record->slice, class, &record->communicated[class]);
        if (used > ROWS - MPI_CLASSES || i == 0) {
            encode_table(encoder, segment, table, rows[0], used);
            used = 0;
        }
    }
}

void encode_communication(struct encoder *encoder, const struct segment *segment, const struct record *records, unsigned count)
{
    encode_classes(encoder, segment, TABLE_communication, RECORD_COMMUNICATION, records, count);
    encode_classes(encoder, segment, TABLE_thread_waits, RECORD_THREAD_WAITS, records, count);
    encode_classes(encoder, segment, TABLE_accelerated, RECORD_ACCELERATED, records, count);
}

void encode_records(struct encoder *encoder, const struct record *records, unsigned count)
{
    unsigned char row_of[RECORDS_MAX], first_of[RECORDS_MAX];
    unsigned rows = assign_rows(records, count, row_of, first_of);
    if (rows == 0)
        return;
    struct counts any = bits_of(records, count);
    const unsigned columns = SLICE_KEYS + COUNTERS + ALL_BINS;
    unsigned char *present = begin_chunk(encoder, TABLE_slices, rows, columns);
    for (unsigned column = 0; column < columns && !encoder->is_overflowing; column++) {
        unsigned counter = column - SLICE_KEYS, bin = counter - COUNTERS;
        if (column >= SLICE_KEYS && (counter < COUNTERS ? any.counter[counter] : any.bin[bin]) == 0)
            continue;
        memset(values, 0, rows * sizeof *values);
        if (column < SLICE_KEYS)
            gather_key(records, rows, first_of, column);
        else if (counter < COUNTERS)
            gather_counter(records, count, row_of, counter);
        else
            gather_bin(records, count, row_of, bin);
        if (encode_numbers(encoder, rows))
            present[column / 8] |= (unsigned char)(1u << (column % 8));
    }
}
