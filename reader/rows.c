/* Which rows of a process become one: rows are sorted by their keys, within one process at a time, since no row adds to another's. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_A_BATCH = 8192, FEW_ROWS = 24, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* A row's keys in one number, if they fit, and the row's place among those of its group as they came. */
struct sortable {
    uint64_t keys;
    uint32_t row;
};

const struct stored *find_stored(const struct chunk *chunk, int32_t place)
{
    for (unsigned i = 0; i < chunk->column_count && chunk->columns[i].place <= place; i++)
        if (chunk->columns[i].place == place)
            return &chunk->columns[i];
    return NULL;
}

/* One key of all rows of a group. */
static void gather_key(const struct table *table, const struct group *group, const struct reader_column *column, uint64_t *values)
{
    static const struct stored zeros = { 0 };
    const struct part_of_table *parts = table->parts.items;
    for (size_t i = group->first_part; i < group->end_part; i++) {
        const struct chunk *chunk = parts[i].chunk;
        uint32_t schema = parts[i].schema;
        int32_t place = column->places[schema];
        const struct stored *stored = place >= 0 ? find_stored(chunk, place) : NULL;
        stored = stored != NULL ? stored : &zeros;
        for (uint32_t row = 0; row < chunk->rows; row++) {
            uint64_t value = stored_value(stored, row);
            *values++ = column->type != READER_NAME ? value : place >= 0 ? common_code(column, schema, value) : 0;
        }
    }
}

static unsigned bits_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

static void insert_sort(struct sortable *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sortable row = rows[i];
        size_t at = i;
        for (; at > 0 && rows[at - 1].keys > row.keys; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* Sorts by keys of so many bits and leaves equal rows in their order. Returns where the result is: in `rows` or in `other`. */
static struct sortable *sort_rows(struct sortable *rows, struct sortable *other, size_t count, unsigned bits)
{
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++)
        is_sorted = rows[i - 1].keys <= rows[i].keys;
    if (is_sorted)
        return rows;
    if (count <= FEW_ROWS) {
        insert_sort(rows, count);
        return rows;
    }
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        uint32_t starts[DIGITS + 1] = { 0 };
        for (size_t i = 0; i < count; i++)
            starts[(rows[i].keys >> shift & (DIGITS - 1)) + 1]++;
        for (unsigned digit = 0; digit < DIGITS; digit++)
            starts[digit + 1] += starts[digit];
        for (size_t i = 0; i < count; i++)
            other[starts[rows[i].keys >> shift & (DIGITS - 1)]++] = rows[i];
        struct sortable *swapped = rows;
        rows = other;
        other = swapped;
    }
    return rows;
}

/* Replaces keys that do not fit one number together by their ranks: sorts by the last key, then by the one before it and so on. values: of
 * each key those of `stride` rows. */
static struct sortable *rank_rows(const uint64_t *values, size_t keys, size_t stride, struct sortable *rows, size_t count, struct sortable *other)
{
    for (size_t key = keys; key-- > 0;) {
        for (size_t i = 0; i < count; i++)
            rows[i].keys = values[key * stride + rows[i].row];
        struct sortable *sorted = sort_rows(rows, other, count, 64);
        other = sorted == rows ? other : rows;
        rows = sorted;
    }
    uint64_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = false;
        for (size_t key = 0; key < keys && i > 0 && !is_new; key++)
            is_new = values[key * stride + rows[i].row] != values[key * stride + rows[i - 1].row];
        rank += is_new;
        rows[i].keys = rank;
    }
    return rows;
}

static bool group_rows(struct worker *worker, struct table *table, struct group *group)
{
    size_t count = group->rows, keys = 0;
    target *targets = table->targets + group->first_row;
    if (count == 1 && !table->leaves_out) {
        targets[0] = TARGET_IS_LAST;
        group->made = 1;
        return true;
    }
    for (uint32_t i = 0; i < table->plan->column_count; i++)
        keys += table->plan->columns[i].merge == READER_KEY && !table->plan->columns[i].is_summed_over;
    uint64_t *values = scratch_take(&worker->scratches[SCRATCH_KEYS], (keys + 1) * count * sizeof *values);
    struct sortable *rows = scratch_take(&worker->scratches[SCRATCH_PACKED], count * sizeof *rows);
    struct sortable *other = scratch_take(&worker->scratches[SCRATCH_SORTED], count * sizeof *other);
    if (values == NULL || rows == NULL || other == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct sortable){ .row = (uint32_t)i };
    memset(targets, 0, count * sizeof *targets);
    unsigned bits = 0;
    size_t key = 0;
    for (uint32_t i = 0; i < table->plan->column_count; i++) {
        const struct reader_column *column = &table->plan->columns[i];
        uint64_t *own = values + (column->is_summed_over ? keys : key) * count, least = UINT64_MAX, most = 0;
        if (column->merge != READER_KEY)
            continue;
        gather_key(table, group, column, own);
        for (size_t row = 0; row < count && column->is_kept != NULL; row++)
            targets[row] = column->is_kept[own[row]] ? targets[row] : TARGET_NONE;
        if (column->is_summed_over)
            continue;
        key++;
        for (size_t row = 0; row < count; row++) {
            least = own[row] < least ? own[row] : least;
            most = own[row] > most ? own[row] : most;
        }
        unsigned own_bits = bits_of(most - least);
        bits += own_bits;
        if (own_bits > 0 && bits <= 64)
            for (size_t row = 0; row < count; row++)
                rows[row].keys = (own_bits < 64 ? rows[row].keys << own_bits : 0) | (own[row] - least);
    }
    size_t kept = 0;
    for (size_t row = 0; row < count; row++)
        if (targets[row] != TARGET_NONE)
            rows[kept++] = rows[row];
    struct sortable *sorted = bits <= 64 ? sort_rows(rows, other, kept, bits) : rank_rows(values, keys, count, rows, kept, other);
    uint32_t made = 0;
    for (size_t i = 0; i < kept; i++) {
        bool is_last = i + 1 == kept || sorted[i + 1].keys != sorted[i].keys;
        targets[sorted[i].row] = made | (is_last ? TARGET_IS_LAST : 0);
        made += is_last;
    }
    group->made = made;
    return true;
}

static void group_batch(struct worker *worker, size_t i, void *argument)
{
    struct table *table = argument;
    const struct batch *batch = (struct batch *)table->batches.items + i;
    for (size_t g = batch->first; g < batch->end; g++)
        if (!group_rows(worker, table, (struct group *)table->groups.items + g))
            worker->reader->is_out_of_memory = true;
}

static void note_presence(struct table *table, const struct part_of_table *part)
{
    const int16_t *outputs = table->outputs_of_places[part->schema];
    for (unsigned i = 0; i < part->chunk->column_count; i++)
        if (outputs[part->chunk->columns[i].place] >= 0)
            table->outputs[outputs[part->chunk->columns[i].place]].is_present = true;
}

/* A chunk of the table, after those that came before it. */
static int add_part(struct table *table, const struct taken *taken, const struct chunk *chunk)
{
    const struct frame *frame = taken->frame;
    struct group *group = table->groups.count > 0 ? (struct group *)table->groups.items + table->groups.count - 1 : NULL;
    if (group == NULL || group->process != frame->process || group->source != taken->source) {
        group = list_add(&table->groups, sizeof *group);
        if (group == NULL)
            return -ENOMEM;
        *group = (struct group){ .process = frame->process, .source = taken->source, .first_part = table->parts.count, .first_row = table->rows };
    }
    struct part_of_table *part = list_add(&table->parts, sizeof *part);
    if (part == NULL || group->rows + chunk->rows >= TARGET_IS_LAST)
        return -ENOMEM;
    *part = (struct part_of_table){ chunk, frame->schema, table->rows };
    group->end_part = table->parts.count;
    group->rows += chunk->rows;
    table->rows += chunk->rows;
    note_presence(table, part);
    return 0;
}

/* The table's number, if it has the same in all schemas that have it; else -1. */
static int32_t only_number(const struct table *table)
{
    int32_t number = -1;
    for (unsigned s = 0; s < table->reader->schema_count; s++) {
        if (table->plan->tables[s] >= 0 && number >= 0 && table->plan->tables[s] != number)
            return -1;
        number = table->plan->tables[s] >= 0 ? table->plan->tables[s] : number;
    }
    return number < TABLES_MAX ? number : -1;
}

/* The chunks of the table, in the order of source, process and frame. */
static int gather_parts(struct table *table)
{
    const struct reader *reader = table->reader;
    const struct taken *taken = reader->taken.items;
    int32_t number = only_number(table);
    int result = 0;
    if (number >= 0) {
        for (size_t i = reader->chunks_from[number]; i < reader->chunks_from[number + 1] && result == 0; i++) {
            const struct taken *frame = &taken[reader->chunks[i].taken];
            if (table->plan->tables[frame->frame->schema] == number)
                result = add_part(table, frame, reader->chunks[i].chunk);
        }
        return result;
    }
    for (size_t i = 0; i < reader->taken.count && result == 0; i++)
        for (const struct chunk *chunk = taken[i].frame->chunks; chunk != NULL && result == 0; chunk = chunk->next)
            if (chunk->table == table->plan->tables[taken[i].frame->schema])
                result = add_part(table, &taken[i], chunk);
    return result;
}

static int plan_batches(struct table *table)
{
    const struct group *groups = table->groups.items;
    for (size_t first = 0, end; first < table->groups.count; first = end) {
        size_t rows = 0;
        for (end = first; end < table->groups.count && rows < ROWS_A_BATCH; end++)
            rows += groups[end].rows;
        struct batch *batch = list_add(&table->batches, sizeof *batch);
        if (batch == NULL)
            return -ENOMEM;
        *batch = (struct batch){ first, end };
    }
    return 0;
}

int rows_group(struct table *table)
{
    int result = gather_parts(table);
    if (result == 0)
        result = plan_batches(table);
    table->targets = result == 0 ? malloc((table->rows + 1) * sizeof *table->targets) : NULL;
    if (table->targets == NULL)
        return -ENOMEM;
    work_in_parallel(table->reader, table->batches.count, false, group_batch, table);
    if (table->reader->is_out_of_memory)
        return -ENOMEM;
    struct group *groups = table->groups.items;
    for (size_t i = 0; i < table->groups.count; i++) {
        groups[i].first_made = table->made;
        table->made += groups[i].made;
    }
    return 0;
}
