#include "arrow.h"

#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An array's buffers: validity (none: nothing is null), values, and of string views the texts and then their lengths. */
enum { VALUES = 1, FIRST_TEXT };

/* Everything that belongs to one array or one schema, freed by its release callback. A consumer may take a child away: then that child's
 * `release` is NULL in ours. */
struct array_memory {
    struct ArrowArray *children;
    struct ArrowArray **child_list;
    const void **buffers;
    size_t buffer_count, value_bytes;
};

struct schema_memory {
    struct ArrowSchema *children;
    struct ArrowSchema **child_list;
    char *name;
};

static void free_array(struct ArrowArray *array)
{
    struct array_memory *memory = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    for (size_t i = 0; i < memory->buffer_count; i++)
        if (i == VALUES)
            memory_free((void *)memory->buffers[i], memory->value_bytes);
        else
            free((void *)memory->buffers[i]);
    free(memory->children);
    free(memory->child_list);
    free(memory->buffers);
    free(memory);
    array->release = NULL;
}

static void free_schema(struct ArrowSchema *schema)
{
    struct schema_memory *memory = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
    free(memory->children);
    free(memory->child_list);
    free(memory->name);
    free(memory);
    schema->release = NULL;
}

void arrow_free(struct arrow_column *column)
{
    memory_free(column->values, column->value_bytes);
    for (size_t i = 0; i < column->text_count; i++)
        free(column->texts[i]);
    free(column->texts);
    free(column->text_bytes);
    *column = (struct arrow_column){ 0 };
}

/* An array without buffers or children yet. Room for `buffers` and `children` is there. */
static int begin_array(struct ArrowArray *array, int64_t rows, size_t buffers, size_t children)
{
    struct array_memory *memory = calloc(1, sizeof *memory);
    *array = (struct ArrowArray){ 0 };
    if (memory == NULL)
        return -ENOMEM;
    memory->buffers = calloc(buffers, sizeof *memory->buffers);
    memory->buffer_count = buffers;
    memory->children = calloc(children + 1, sizeof *memory->children);
    memory->child_list = calloc(children + 1, sizeof *memory->child_list);
    *array = (struct ArrowArray){ .length = rows,
                                  .n_buffers = (int64_t)buffers,
                                  .buffers = memory->buffers,
                                  .children = memory->child_list,
                                  .release = free_array,
                                  .private_data = memory };
    if (memory->buffers == NULL || memory->children == NULL || memory->child_list == NULL) {
        memory->buffer_count = 0;
        free_array(array);
        return -ENOMEM;
    }
    for (size_t i = 0; i < children; i++)
        memory->child_list[i] = &memory->children[i];
    return 0;
}

static int begin_schema(struct ArrowSchema *schema, const char *format, const char *name, size_t children)
{
    struct schema_memory *memory = calloc(1, sizeof *memory);
    *schema = (struct ArrowSchema){ 0 };
    if (memory == NULL)
        return -ENOMEM;
    memory->name = strdup(name);
    memory->children = calloc(children + 1, sizeof *memory->children);
    memory->child_list = calloc(children + 1, sizeof *memory->child_list);
    *schema = (struct ArrowSchema){
        .format = format, .name = memory->name, .children = memory->child_list, .release = free_schema, .private_data = memory
    };
    if (memory->name == NULL || memory->children == NULL || memory->child_list == NULL) {
        free_schema(schema);
        return -ENOMEM;
    }
    for (size_t i = 0; i < children; i++)
        memory->child_list[i] = &memory->children[i];
    return 0;
}

static int export_column(struct arrow_column *column, int64_t rows, struct ArrowSchema *schema, struct ArrowArray *array)
{
    int is_text = column->text_bytes != NULL;
    int made = begin_schema(schema, column->format, column->name, 0);
    if (made < 0)
        return made;
    made = begin_array(array, rows, FIRST_TEXT + column->text_count + (is_text ? 1 : 0), 0);
    if (made < 0) {
        free_schema(schema);
        return made;
    }
    array->buffers[VALUES] = column->values;
    ((struct array_memory *)array->private_data)->value_bytes = column->value_bytes;
    for (size_t i = 0; i < column->text_count; i++)
        array->buffers[FIRST_TEXT + i] = column->texts[i];
    if (is_text)
        array->buffers[FIRST_TEXT + column->text_count] = column->text_bytes;
    free(column->texts);
    *column = (struct arrow_column){ 0 };
    return 0;
}

int arrow_export(struct arrow_column *columns, size_t count, int64_t rows, struct ArrowSchema *schema, struct ArrowArray *array)
{
    int made = begin_schema(schema, "+s", "", count);
    if (made == 0 && (made = begin_array(array, rows, 1, count)) < 0)
        free_schema(schema);
    for (size_t i = 0; i < count && made == 0; i++) {
        made = export_column(&columns[i], rows, schema->children[i], array->children[i]);
        if (made == 0)
            schema->n_children = array->n_children = (int64_t)i + 1;
    }
    if (made < 0) {
        for (size_t i = 0; i < count; i++)
            arrow_free(&columns[i]);
        if (schema->release != NULL)
            schema->release(schema);
        if (array->release != NULL)
            array->release(array);
    }
    return made;
}
