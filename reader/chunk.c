/* A payload's bytes, checked one by one against the schema, into chunks of which only the wanted columns are kept. */
#include "inside.h"

#include "format.h"

#include <string.h>

struct payload {
    const unsigned char *at, *end;
};

static inline size_t bytes_left(const struct payload *payload)
{
    return (size_t)(payload->end - payload->at);
}

static inline uint64_t value_of(const unsigned char *values, unsigned width, uint32_t row)
{
    uint64_t value = 0;
    if (width > 0)
        memcpy(&value, values + (size_t)row * width, width);
    return value;
}

/* A column of numbers: where its values are. False if it is damaged. */
static bool read_numbers(struct payload *payload, uint32_t rows, struct stored *column)
{
    if (bytes_left(payload) < 1)
        return false;
    unsigned head = *payload->at++, width = head & FORMAT_WIDTH_MASK;
    if ((head & ~(unsigned)(FORMAT_WIDTH_MASK | FORMAT_HAS_BASE)) != 0 || (width > 2 && width != 4 && width != 8))
        return false;
    uint64_t base = 0;
    if (head & FORMAT_HAS_BASE) {
        if (bytes_left(payload) < sizeof base)
            return false;
        memcpy(&base, payload->at, sizeof base);
        payload->at += sizeof base;
    }
    if (bytes_left(payload) < (size_t)width * rows)
        return false;
    *column = (struct stored){ .values = payload->at, .base = base, .width = (uint8_t)width };
    payload->at += (size_t)width * rows;
    return true;
}

static bool read_texts(struct payload *payload, uint32_t rows, struct stored *column)
{
    if (bytes_left(payload) < (size_t)2 * rows)
        return false;
    *column = (struct stored){ .values = payload->at, .width = WIDTH_TEXT };
    size_t bytes = 0;
    for (uint32_t row = 0; row < rows; row++)
        bytes += value_of(payload->at, 2, row);
    payload->at += (size_t)2 * rows;
    if (bytes_left(payload) < bytes)
        return false;
    payload->at += bytes;
    return true;
}

/* The least and the greatest value count for the frame. False if one of a signed column is 2^63 or more. */
static bool look_at_values(const struct stored *column, uint32_t rows, uint8_t flags, struct frame *frame)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t value = column->base + value_of(column->values, column->width, row);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    if ((flags & READER_SIGNED) && greatest > INT64_MAX)
        return false;
    if (flags & READER_SPANNED) {
        frame->least = !frame->has_span || least < frame->least ? least : frame->least;
        frame->greatest = !frame->has_span || greatest > frame->greatest ? greatest : frame->greatest;
        frame->has_span = true;
    }
    return true;
}

/* Moves a column's values from the payload, which is about to be lost, into memory that stays: of all rows, or of those listed. */
static bool keep(struct worker *worker, struct stored *column, uint32_t rows, const uint32_t *listed, uint32_t listed_count)
{
    uint32_t kept_rows = listed != NULL ? listed_count : rows;
    if (kept_rows == 1 && column->width <= 8) {
        column->base += value_of(column->values, column->width, listed != NULL ? listed[0] : 0);
        column->width = 0;
    }
    if (column->width == 0)
        return true;
    size_t bytes = (size_t)column->width * kept_rows;
    if (column->width == WIDTH_TEXT) {
        bytes = (size_t)2 * rows;
        for (uint32_t row = 0; row < rows; row++)
            bytes += value_of(column->values, 2, row);
    }
    unsigned char *kept = arena_take(&worker->arena, bytes);
    if (kept == NULL)
        return false;
    if (listed == NULL)
        memcpy(kept, column->values, bytes);
    for (uint32_t i = 0; listed != NULL && i < listed_count; i++)
        memcpy(kept + (size_t)i * column->width, column->values + (size_t)listed[i] * column->width, column->width);
    column->values = kept;
    return true;
}

/* The columns with one of the flags as a chunk of their own. False if there is no memory. */
static bool keep_columns(struct worker *worker, const struct table_layout *table, const struct stored *columns, unsigned count, uint32_t rows,
                         const uint32_t *listed, uint32_t listed_count, uint8_t flags, struct chunk **into)
{
    unsigned wanted = 0;
    for (unsigned i = 0; i < count; i++)
        wanted += (table->flags[columns[i].place] & flags) != 0;
    struct chunk *chunk = arena_take(&worker->arena, sizeof *chunk + wanted * sizeof *chunk->columns);
    if (chunk == NULL)
        return false;
    *chunk = (struct chunk){ .rows = listed != NULL ? listed_count : rows };
    for (unsigned i = 0; i < count; i++) {
        if (!(table->flags[columns[i].place] & flags))
            continue;
        struct stored column = columns[i];
        if (!keep(worker, &column, rows, listed, listed_count))
            return false;
        chunk->columns[chunk->column_count++] = column;
    }
    *into = chunk;
    return true;
}

/* Lists the rows that some table of the reading has. Returns how many they are; all of them are not listed. */
static uint32_t sieve(const struct table_layout *table, const struct stored *columns, unsigned count, uint32_t rows, uint32_t *listed)
{
    static const struct stored zeros = { 0 };
    const struct stored *key = &zeros;
    uint32_t kept = 0;
    for (unsigned i = 0; i < count; i++)
        key = columns[i].place == table->sieve ? &columns[i] : key;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t value = key->base + value_of(key->values, key->width, row);
        if (value >= 64 || !(table->left_out >> value & 1))
            listed[kept++] = row;
    }
    return kept;
}

/* What the reading's tables need of a chunk: its rows, its sums, or both. False if there is no memory. */
static bool keep_chunk(struct worker *worker, const struct table_layout *table, const struct stored *columns, unsigned count, uint32_t rows,
                       uint16_t number, struct chunk ***end)
{
    struct chunk *made[2] = { NULL, NULL };
    uint32_t *listed = NULL, kept = rows;
    if (table->is_wanted && table->left_out != 0) {
        listed = scratch_take(&worker->scratches[SCRATCH_ORDER], (size_t)rows * sizeof *listed);
        if (listed == NULL)
            return false;
        kept = sieve(table, columns, count, rows, listed);
        listed = kept < rows ? listed : NULL;
    }
    if (table->is_wanted && kept > 0 && !keep_columns(worker, table, columns, count, rows, listed, kept, READER_WANTED, &made[0]))
        return false;
    if (table->is_reduced && (!reduce_rows(worker, table, columns, count, rows, &made[1]) ||
                              (made[1] == NULL && !keep_columns(worker, table, columns, count, rows, NULL, 0, READER_REDUCED, &made[1]))))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        if (made[i] == NULL)
            continue;
        made[i]->table = (uint16_t)(number + i * READER_SUMS);
        **end = made[i];
        *end = &made[i]->next;
    }
    return true;
}

/* Columns that are absent are zeros: that counts for the frame's span too. */
static void look_at_absent(const struct table_layout *table, const unsigned char *presence, struct frame *frame)
{
    static const struct stored zeros = { 0 };
    for (uint32_t place = 0; place < table->columns; place++)
        if ((table->flags[place] & READER_SPANNED) && !(presence[place / 8] >> (place % 8) & 1))
            look_at_values(&zeros, 1, READER_SPANNED, frame);
}

static bool decode_chunk(struct worker *worker, const struct schema *schema, struct payload *payload, struct frame *frame, struct chunk ***end)
{
    size_t left = bytes_left(payload);
    if (payload->at[0] >= schema->table_count)
        return false;
    uint16_t table_number = payload->at[0];
    const struct table_layout *table = &schema->tables[table_number];
    size_t presence_bytes = (table->columns + 7) / 8;
    uint32_t rows;
    if (left < 5 + presence_bytes)
        return false;
    memcpy(&rows, payload->at + 1, sizeof rows);
    if (rows < 1 || (rows > MOST_ROWS_WITHOUT_BYTES && rows > left))
        return false;
    const unsigned char *presence = payload->at + 5;
    payload->at += 5 + presence_bytes;
    unsigned count = 0;
    for (uint32_t place = 0; place < presence_bytes * 8; place++)
        if (presence[place / 8] >> (place % 8) & 1) {
            if (place >= table->columns)
                return false;
            count += (table->flags[place] & (READER_WANTED | READER_REDUCED)) != 0;
        }
    look_at_absent(table, presence, frame);

    struct stored *columns = scratch_take(&worker->scratches[SCRATCH_COLUMNS], (count + 1) * sizeof *columns);
    if (columns == NULL) {
        worker->reader->is_out_of_memory = true;
        return false;
    }
    count = 0;
    for (uint32_t place = 0; place < table->columns; place++) {
        struct stored column;
        uint8_t flags = table->flags[place];
        if (!(presence[place / 8] >> (place % 8) & 1))
            continue;
        if (!(flags & READER_STRING ? read_texts(payload, rows, &column) : read_numbers(payload, rows, &column)))
            return false;
        if ((flags & (READER_SIGNED | READER_SPANNED)) && !(flags & READER_STRING) && !look_at_values(&column, rows, flags, frame))
            return false;
        column.place = (uint16_t)place;
        if (flags & (READER_WANTED | READER_REDUCED))
            columns[count++] = column;
    }
    if (!keep_chunk(worker, table, columns, count, rows, table_number, end)) {
        worker->reader->is_out_of_memory = true;
        return false;
    }
    return true;
}

bool chunk_decode(struct worker *worker, const struct schema *schema, const unsigned char *bytes, size_t size, struct frame *frame)
{
    struct payload payload = { bytes, bytes + size };
    struct chunk **end = &frame->chunks;
    frame->has_span = false;
    while (payload.at < payload.end) {
        if (!decode_chunk(worker, schema, &payload, frame, &end)) {
            frame->chunks = NULL;
            frame->has_span = false;
            return false;
        }
    }
    return true;
}
