/* The schemas of a reading: each text is met once, and copies of it are known by their bytes. */
#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int schema_find(struct reader *reader, uint32_t id)
{
    unsigned count = atomic_load(&reader->schema_count);
    for (unsigned i = 0; i < count; i++)
        if (reader->schemas[i]->id == id)
            return (int)i;
    return -1;
}

int schema_find_packed(struct reader *reader, uint32_t id, const unsigned char *packed, size_t packed_bytes)
{
    int found = schema_find(reader, id);
    const struct schema *schema = found >= 0 ? reader->schemas[found] : NULL;
    return schema != NULL && schema->packed_bytes == packed_bytes && memcmp(schema->packed, packed, packed_bytes) == 0 ? found : -1;
}

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size + 1);
    return copy != NULL ? memcpy(copy, bytes, size) : NULL;
}

static int meet_new(struct worker *worker, uint32_t id, const unsigned char *packed, size_t packed_bytes, const unsigned char *text,
                    size_t text_bytes)
{
    struct reader *reader = worker->reader;
    unsigned count = atomic_load(&reader->schema_count);
    struct schema *schema = count < SCHEMAS_MAX ? calloc(1, sizeof *schema) : NULL;
    if (schema == NULL)
        return -1;
    *schema = (struct schema){ .id = id, .text_bytes = text_bytes, .packed_bytes = packed_bytes };
    schema->text = copy_of(text, text_bytes);
    schema->packed = copy_of(packed, packed_bytes);
    reader->met = schema;
    int is_met =
        schema->text != NULL && schema->packed != NULL && reader->meet_schema(reader->context, worker->file, id, schema->text, text_bytes) == 1;
    reader->met = NULL;
    if (!is_met || schema->tables == NULL) {
        schema_free(schema);
        return -1;
    }
    reader->schemas[count] = schema;
    atomic_store(&reader->schema_count, count + 1);
    return (int)count;
}

int schema_meet(struct worker *worker, uint32_t id, const unsigned char *packed, size_t packed_bytes, const unsigned char *text, size_t text_bytes)
{
    struct reader *reader = worker->reader;
    if (unpack_crc32(text, text_bytes) != id)
        return -1;
    pthread_mutex_lock(&reader->schema_lock);
    int found = schema_find(reader, id);
    if (found < 0)
        found = meet_new(worker, id, packed, packed_bytes, text, text_bytes);
    else if (reader->schemas[found]->text_bytes != text_bytes || memcmp(reader->schemas[found]->text, text, text_bytes) != 0)
        found = -1; /* two texts of one checksum: frames would be misread by the other's */
    pthread_mutex_unlock(&reader->schema_lock);
    return found;
}

/* What a table's flags say of all its columns. */
static struct table_layout layout_of(const struct reader_layout *told, const uint8_t *flags)
{
    struct table_layout layout = { .columns = told->columns, .sieve = -1, .is_wanted = told->is_wanted != 0, .flags = flags };
    bool has_texts = false;
    for (uint32_t place = 0; place < told->columns; place++) {
        has_texts = has_texts || ((flags[place] & READER_STRING) && (flags[place] & READER_WANTED));
        layout.is_reduced = layout.is_reduced || (flags[place] & READER_REDUCED);
        if ((flags[place] & READER_SIEVE) && !(flags[place] & READER_STRING))
            layout.sieve = (int32_t)place;
    }
    /* Texts are kept as they lie in the payload: all, or none. */
    layout.left_out = layout.sieve >= 0 && !has_texts ? told->left_out : 0;
    return layout;
}

int slicewise_reader_add_schema(struct reader *reader, uint32_t id, uint32_t tables, const struct reader_layout *layouts, const uint8_t *flags)
{
    struct schema *schema = reader->met;
    size_t columns = 0;
    if (schema == NULL || schema->id != id || schema->tables != NULL)
        return -EINVAL;
    for (uint32_t i = 0; i < tables; i++) {
        if (layouts[i].columns > UINT16_MAX)
            return -EINVAL;
        for (uint32_t place = 0; place < layouts[i].columns; place++)
            if ((flags[columns + place] & READER_STRING) && (flags[columns + place] & READER_REDUCED))
                return -EINVAL;
        columns += layouts[i].columns;
    }
    schema->tables = calloc((size_t)tables + 1, sizeof *schema->tables);
    schema->flags = copy_of(flags, columns);
    if (schema->tables == NULL || schema->flags == NULL)
        return -ENOMEM;
    schema->table_count = tables;
    const uint8_t *at = schema->flags;
    for (uint32_t i = 0; i < tables; at += layouts[i++].columns)
        schema->tables[i] = layout_of(&layouts[i], at);
    return 0;
}

void schema_free(struct schema *schema)
{
    free(schema->text);
    free(schema->packed);
    free(schema->tables);
    free(schema->flags);
    free(schema);
}
