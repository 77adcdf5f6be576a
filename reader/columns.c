/* A table's columns, filled process by process: what a process's rows go to lies close together then. */
#include "memory.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So little that zeros cost less than their absence costs the caller. */
enum { LITTLE_ROWS = 4096 };

/* What one chunk does to one column of numbers: a loop for each width and merge, which the compiler then knows.
 * NOLINTBEGIN(bugprone-macro-parentheses): `type` is a type's name, which takes no parentheses in a declaration. */
#define FILL(type, value_of_row, put) \
    { \
        const type *values = (const void *)stored->values; \
        for (uint32_t row = 0; row < rows; row++) { \
            uint64_t value = value_of_row, *into = &made[targets[row] & ~TARGET_IS_LAST]; \
            (void)values; \
            put; \
        } \
        break; \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define FILL_BY_WIDTH(put) \
    switch (stored->width) { \
    case 0: FILL(uint8_t, stored->base, put) \
    case 1: FILL(uint8_t, stored->base + values[row], put) \
    case 2: FILL(uint16_t, stored->base + values[row], put) \
    case 4: FILL(uint32_t, stored->base + values[row], put) \
    default: FILL(uint64_t, stored->base + values[row], put) \
    }

static void fill_numbers(const struct output *output, const struct stored *stored, const target *targets, uint32_t rows, bool leaves_out,
                         uint64_t *made)
{
    if (leaves_out && !output->is_by_last && output->column->merge == READER_MAX)
        FILL_BY_WIDTH(if (targets[row] != TARGET_NONE && value > *into) *into = value)
    else if (leaves_out && !output->is_by_last)
        FILL_BY_WIDTH(if (targets[row] != TARGET_NONE) *into = number_sum(*into, value))
    else if (output->is_by_last)
        FILL_BY_WIDTH(if (targets[row] & TARGET_IS_LAST) *into = value)
    else if (output->column->merge == READER_MAX)
        FILL_BY_WIDTH(*into = value > *into ? value : *into)
    else
        FILL_BY_WIDTH(*into = number_sum(*into, value))
}

static void fill_names(const struct output *output, uint32_t schema, const struct stored *stored, const target *targets, uint32_t rows,
                       struct arrow_view *made)
{
    for (uint32_t row = 0; row < rows; row++)
        if (targets[row] & TARGET_IS_LAST)
            made[targets[row] & ~TARGET_IS_LAST] = output->name_views[common_code(output->column, schema, stored_value(stored, row))];
}

static bool fill_texts(struct output *output, const struct stored *stored, const target *targets, uint32_t rows, struct arrow_view *made)
{
    const unsigned char *text = stored->values + (size_t)2 * rows;
    for (uint32_t row = 0; row < rows; row++) {
        uint16_t bytes;
        memcpy(&bytes, stored->values + (size_t)2 * row, sizeof bytes);
        if ((targets[row] & TARGET_IS_LAST) && !text_add(&output->texts, text, bytes, &made[targets[row] & ~TARGET_IS_LAST]))
            return false;
        text += bytes;
    }
    return true;
}

/* Names of columns that a chunk does not hold: number 0 of its schema, or unknown. */
static void fill_absent_names(const struct table *table, const struct part_of_table *part, const struct group *group)
{
    static const struct stored zeros = { 0 };
    for (uint32_t i = 0; i < table->plan->column_count; i++) {
        const struct output *output = &table->outputs[i];
        if (output->column->type != READER_NAME || output->column->is_summed_over)
            continue;
        int32_t place = output->column->places[part->schema];
        bool is_there = false;
        for (unsigned k = 0; k < part->chunk->column_count && !is_there; k++)
            is_there = part->chunk->columns[k].place == place;
        struct arrow_view *made = output->views + group->first_made;
        const target *targets = table->targets + part->first_row;
        if (!is_there && place >= 0)
            fill_names(output, part->schema, &zeros, targets, part->chunk->rows, made);
        else if (place < 0)
            for (uint32_t row = 0; row < part->chunk->rows; row++)
                if (targets[row] & TARGET_IS_LAST)
                    made[targets[row] & ~TARGET_IS_LAST] = output->name_views[0];
    }
}

static bool is_greatest(const struct table *table, const struct output *output)
{
    return output->column->merge == READER_GREATEST && table->summed_over != NULL;
}

static void fill_part(const struct table *table, const struct part_of_table *part, const struct group *group)
{
    const struct chunk *chunk = part->chunk;
    const int16_t *outputs = table->outputs_of_places[part->schema];
    const target *targets = table->targets + part->first_row;
    if (table->has_names)
        fill_absent_names(table, part, group);
    for (unsigned i = 0; i < chunk->column_count; i++) {
        const struct stored *stored = &chunk->columns[i];
        if (outputs[stored->place] < 0)
            continue;
        struct output *output = &table->outputs[outputs[stored->place]];
        if (is_greatest(table, output))
            continue;
        if (output->numbers != NULL && stored->width != WIDTH_TEXT)
            fill_numbers(output, stored, targets, chunk->rows, table->leaves_out, output->numbers + group->first_made);
        else if (output->column->type == READER_NAME && stored->width != WIDTH_TEXT)
            fill_names(output, part->schema, stored, targets, chunk->rows, output->views + group->first_made);
    }
}

/* A group's values of a column READER_GREATEST: the sums of one name of the key that is summed over, and then of the next. */
static bool fill_greatest(struct worker *worker, const struct table *table, const struct group *group, const struct output *output)
{
    static const struct stored zeros = { 0 };
    const struct reader_column *key = table->summed_over, *column = output->column;
    uint64_t *made = output->numbers + group->first_made, *sums = scratch_take(&worker->scratches[SCRATCH_KEYS], (group->made + 1) * sizeof *sums);
    if (sums == NULL)
        return false;
    for (uint32_t name = 0; name < key->name_count; name++) {
        if (key->is_kept != NULL && !key->is_kept[name])
            continue;
        memset(sums, 0, group->made * sizeof *sums);
        for (size_t p = group->first_part; p < group->end_part; p++) {
            const struct part_of_table *part = (struct part_of_table *)table->parts.items + p;
            const struct stored *values = find_stored(part->chunk, column->places[part->schema]);
            const struct stored *names = find_stored(part->chunk, key->places[part->schema]);
            const target *targets = table->targets + part->first_row;
            names = names != NULL ? names : &zeros;
            for (uint32_t row = 0; values != NULL && row < part->chunk->rows; row++) {
                uint64_t code = key->places[part->schema] >= 0 ? common_code(key, part->schema, stored_value(names, row)) : 0;
                uint64_t *sum = &sums[targets[row] & ~TARGET_IS_LAST];
                if (targets[row] != TARGET_NONE && code == name)
                    *sum = number_sum(*sum, stored_value(values, row));
            }
        }
        for (size_t row = 0; row < group->made; row++)
            made[row] = sums[row] > made[row] ? sums[row] : made[row];
    }
    return true;
}

/* What a batch's rows say of the bounds of all columns. */
static void note_bounds(struct table *table, size_t first, size_t end)
{
    for (uint32_t i = 0; i < table->plan->column_count; i++) {
        const uint64_t *numbers = table->outputs[i].numbers;
        uint64_t bits = 0, high_sum = 0;
        if (numbers == NULL)
            continue;
        for (size_t row = first; row < end; row++) {
            bits |= numbers[row];
            high_sum += numbers[row] >> 32;
        }
        atomic_fetch_or(&table->outputs[i].bits, bits);
        atomic_fetch_add(&table->outputs[i].high_sum, high_sum);
    }
}

static void fill_batch(struct worker *worker, size_t i, void *argument)
{
    struct table *table = argument;
    const struct batch *batch = (struct batch *)table->batches.items + i;
    for (size_t g = batch->first; g < batch->end; g++) {
        const struct group *group = (struct group *)table->groups.items + g;
        for (size_t made = group->first_made; made < group->first_made + group->made; made++) {
            table->processes[made] = group->process;
            if (table->sources != NULL)
                table->sources[made] = group->source;
        }
        for (size_t p = group->first_part; p < group->end_part; p++)
            fill_part(table, (struct part_of_table *)table->parts.items + p, group);
        for (uint32_t o = 0; o < table->plan->column_count; o++)
            if (is_greatest(table, &table->outputs[o]) && table->outputs[o].numbers != NULL &&
                !fill_greatest(worker, table, group, &table->outputs[o]))
                table->reader->is_out_of_memory = true;
    }
    const struct group *first = (struct group *)table->groups.items + batch->first, *last = (struct group *)table->groups.items + batch->end - 1;
    note_bounds(table, first->first_made, last->first_made + last->made);
}

/* Texts one after the other: equal ones of all processes are kept once. */
static int fill_all_texts(struct table *table)
{
    bool has_texts = false;
    for (uint32_t i = 0; i < table->plan->column_count; i++)
        has_texts = has_texts || (table->outputs[i].views != NULL && table->outputs[i].column->type == READER_TEXT);
    if (!has_texts)
        return 0;
    for (size_t g = 0; g < table->groups.count; g++) {
        const struct group *group = (struct group *)table->groups.items + g;
        for (size_t p = group->first_part; p < group->end_part; p++) {
            const struct part_of_table *part = (struct part_of_table *)table->parts.items + p;
            const int16_t *outputs = table->outputs_of_places[part->schema];
            for (unsigned i = 0; i < part->chunk->column_count; i++) {
                const struct stored *stored = &part->chunk->columns[i];
                struct output *output = outputs[stored->place] >= 0 ? &table->outputs[outputs[stored->place]] : NULL;
                if (output != NULL && output->column->type == READER_TEXT && stored->width == WIDTH_TEXT &&
                    !fill_texts(output, stored, table->targets + part->first_row, part->chunk->rows, output->views + group->first_made))
                    return -ENOMEM;
            }
        }
    }
    return 0;
}

static int make_room(struct table *table)
{
    size_t rows = table->made;
    table->processes = memory_zeroed(rows * sizeof *table->processes);
    table->sources = table->plan->source_name != NULL ? memory_zeroed(rows * sizeof *table->sources) : NULL;
    if (table->processes == NULL || (table->plan->source_name != NULL && table->sources == NULL))
        return -ENOMEM;
    for (uint32_t i = 0; i < table->plan->column_count; i++) {
        struct output *output = &table->outputs[i];
        const struct reader_column *column = output->column;
        if (column->is_summed_over)
            continue;
        if (column->type == READER_NAME) {
            output->name_views = calloc((size_t)column->name_count + 1, sizeof *output->name_views);
            if (output->name_views == NULL)
                return -ENOMEM;
            for (uint32_t name = 0; name < column->name_count; name++)
                if (!text_add(&output->texts, (const unsigned char *)column->names[name], column->name_bytes[name], &output->name_views[name]))
                    return -ENOMEM;
        } else if (!output->is_present && table->made > LITTLE_ROWS) {
            continue;
        }
        if (column->type == READER_NAME || column->type == READER_TEXT)
            output->views = memory_zeroed(rows * sizeof *output->views);
        else
            output->numbers = memory_zeroed(rows * sizeof *output->numbers);
        if (output->views == NULL && output->numbers == NULL)
            return -ENOMEM;
    }
    return 0;
}

int columns_fill(struct table *table)
{
    int result = make_room(table);
    if (result < 0)
        return result;
    work_in_parallel(table->reader, table->batches.count, false, fill_batch, table);
    return table->reader->is_out_of_memory ? -ENOMEM : fill_all_texts(table);
}

/* Gives a text column's memory to the Arrow column. */
static int give_texts(struct output *output, size_t rows, struct arrow_column *column)
{
    struct text_pool *pool = &output->texts;
    *column = (struct arrow_column){ .format = "vu",
                                     .name = output->column->name,
                                     .values = output->views,
                                     .value_bytes = rows * sizeof *output->views,
                                     .texts = pool->buffers,
                                     .text_bytes = pool->bytes,
                                     .text_count = pool->count };
    output->views = NULL;
    pool->buffers = NULL;
    pool->bytes = NULL;
    pool->count = 0;
    if (column->text_bytes == NULL)
        column->text_bytes = calloc(1, sizeof *column->text_bytes);
    return column->text_bytes == NULL ? -ENOMEM : 0;
}

static int export_table(struct table *table, struct ArrowSchema *schema, struct ArrowArray *array)
{
    struct arrow_column *columns = calloc((size_t)table->plan->column_count + 2, sizeof *columns);
    size_t count = 0;
    int result = columns == NULL ? -ENOMEM : 0;
    if (result == 0 && table->plan->source_name != NULL) {
        columns[count++] = (struct arrow_column){
            .format = "I", .name = table->plan->source_name, .values = table->sources, .value_bytes = table->made * sizeof *table->sources
        };
        table->sources = NULL;
    }
    if (result == 0) {
        columns[count++] = (struct arrow_column){
            .format = "L", .name = "process", .values = table->processes, .value_bytes = table->made * sizeof *table->processes
        };
        table->processes = NULL;
    }
    for (uint32_t i = 0; i < table->plan->column_count && result == 0; i++) {
        struct output *output = &table->outputs[i];
        if (output->views != NULL) {
            result = give_texts(output, table->made, &columns[count++]);
        } else if (output->numbers != NULL) {
            columns[count++] = (struct arrow_column){ .format = output->column->type == READER_I64 ? "l" : "L",
                                                      .name = output->column->name,
                                                      .values = output->numbers,
                                                      .value_bytes = table->made * sizeof *output->numbers };
            output->numbers = NULL;
        }
    }
    if (result == 0)
        result = arrow_export(columns, count, (int64_t)table->made, schema, array);
    else
        for (size_t i = 0; i < count; i++)
            arrow_free(&columns[i]);
    free(columns);
    return result;
}

/* Columns by schema and place, so that a chunk's columns find theirs. */
static int map_outputs(struct table *table)
{
    struct reader *reader = table->reader;
    unsigned schemas = reader->schema_count;
    table->outputs_of_places = calloc((size_t)schemas + 1, sizeof *table->outputs_of_places);
    table->outputs = calloc((size_t)table->plan->column_count + 1, sizeof *table->outputs);
    if (table->outputs_of_places == NULL || table->outputs == NULL || table->plan->column_count > INT16_MAX)
        return -ENOMEM;
    for (uint32_t i = 0; i < table->plan->column_count; i++) {
        const struct reader_column *column = &table->plan->columns[i];
        table->outputs[i].column = column;
        table->has_names = table->has_names || (column->type == READER_NAME && !column->is_summed_over);
        table->leaves_out = table->leaves_out || column->is_kept != NULL;
        table->summed_over = column->is_summed_over && column->type == READER_NAME ? column : table->summed_over;
        table->outputs[i].is_by_last = !table->plan->adds_up || (column->merge == READER_KEY || column->merge == READER_LAST);
    }
    for (unsigned s = 0; s < schemas; s++) {
        int32_t number = table->plan->tables[s];
        number = number >= READER_SUMS ? number - READER_SUMS : number;
        if (number < 0 || (uint32_t)number >= reader->schemas[s]->table_count)
            continue;
        const struct table_layout *layout = &reader->schemas[s]->tables[number];
        table->outputs_of_places[s] = malloc(((size_t)layout->columns + 1) * sizeof **table->outputs_of_places);
        if (table->outputs_of_places[s] == NULL)
            return -ENOMEM;
        for (uint32_t place = 0; place < layout->columns; place++)
            table->outputs_of_places[s][place] = -1;
        for (uint32_t i = 0; i < table->plan->column_count; i++) {
            int32_t place = table->plan->columns[i].places[s];
            if (place >= 0 && (uint32_t)place < layout->columns && !table->plan->columns[i].is_summed_over &&
                ((layout->flags[place] & READER_STRING) != 0) == (table->plan->columns[i].type == READER_TEXT))
                table->outputs_of_places[s][place] = (int16_t)i;
        }
    }
    return 0;
}

static void free_table(struct table *table)
{
    for (uint32_t i = 0; table->outputs != NULL && i < table->plan->column_count; i++) {
        memory_free(table->outputs[i].numbers, table->made * sizeof *table->outputs[i].numbers);
        memory_free(table->outputs[i].views, table->made * sizeof *table->outputs[i].views);
        free(table->outputs[i].name_views);
        text_free(&table->outputs[i].texts);
    }
    for (unsigned s = 0; table->outputs_of_places != NULL && s < table->reader->schema_count; s++)
        free(table->outputs_of_places[s]);
    free(table->outputs);
    free(table->outputs_of_places);
    free(table->parts.items);
    free(table->groups.items);
    free(table->batches.items);
    free(table->targets);
    memory_free(table->sources, table->made * sizeof *table->sources);
    memory_free(table->processes, table->made * sizeof *table->processes);
}

int slicewise_reader_table(struct reader *reader, const struct reader_plan *plan, struct reader_bound *bounds, struct ArrowSchema *schema,
                           struct ArrowArray *array)
{
    struct table table = { .reader = reader, .plan = plan };
    reader->is_out_of_memory = false;
    int result = map_outputs(&table);
    if (result == 0)
        result = rows_group(&table);
    if (result == 0)
        result = columns_fill(&table);
    for (uint32_t i = 0; result == 0 && i < plan->column_count; i++)
        bounds[i] = (struct reader_bound){ table.outputs[i].bits, table.outputs[i].high_sum };
    if (result == 0)
        result = export_table(&table, schema, array);
    free_table(&table);
    return result;
}
