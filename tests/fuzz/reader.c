/* Fuzzes the native reader (reader/): whatever the bytes are, it reads them or says what is damaged, and makes all tables.
 *
 * The first byte of an input says what the rest is. Even: a file as it is. Odd: payloads, cut at every 0xa5 0x5a, that are put into sound
 * frames behind a sound schema, for no mutation gets past two checksums. The bits above choose what is asked for.
 *
 * As a libFuzzer target it has LLVMFuzzerTestOneInput alone. With -DALONE it is a program: reader [-r ROUNDS] FILE...; each file is tried as it
 * is, then so many mutants of it. */
#include "format.h"
#include "arrow.h"
#include "reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The layout of this source tree's schema, as far as the decoder knows one. */
enum { IS_STRING = READER_STRING, IS_KEY = 0x80 };
#define TYPE_U64 0
#define TYPE_I64 0
#define TYPE_ENUM 0x40
#define TYPE_STRING IS_STRING
#define MERGE_KEY IS_KEY
#define MERGE_SUM 0
#define MERGE_MAX 0
#define MERGE_LAST 0

struct column { uint8_t table, flags; };
enum table_number {
#define TABLE(name, rows, meaning) NUMBER_##name,
#define COLUMN(...)
#include "tables.def"
    TABLES
};
static const uint8_t adds_up[] = {
#define ROWS_ADD 1
#define ROWS_LAST 0
#define TABLE(name, rows, meaning) ROWS_##rows,
#define COLUMN(...)
#include "tables.def"
};
static const struct column listed[] = {
#define TABLE(name, rows, meaning)
#define COLUMN(table, name, type, unit, merge, ...) { NUMBER_##table, TYPE_##type | MERGE_##merge },
#include "tables.def"
};
enum {
    COUNTER_COLUMNS = 0
#define COUNTER(name, unit, merge, meaning) + 1
#define BINS(name, bins, unit, merge, meaning, edges) + (bins)
#include "counters.def"
};
enum { LISTED = sizeof listed / sizeof *listed };
/* The schema's text is our own affair: the layout does not come from it. */
static const char schema_text[] = "the schema of the source tree";

static struct reader_layout layouts[TABLES];
static uint8_t flags[LISTED + COUNTER_COLUMNS];

/* Tables whose sums are asked for, and rows too: a key in three is not told apart. */
static uint8_t reduced(unsigned table, size_t i, bool is_key)
{
    if (!adds_up[table])
        return 0;
    return is_key && i % 3 != 0 ? READER_REDUCED_KEY : i % 2 == 0 ? READER_REDUCED_SUM : READER_REDUCED_MAX;
}

static void lay_out(uint8_t choice)
{
    size_t at = 0;
    for (unsigned table = 0; table < TABLES; table++) {
        layouts[table] = (struct reader_layout){ .left_out = choice & 64 ? choice : 0, .is_wanted = !(choice & 2) || table % 2 == 0 };
        for (size_t i = 0; i < LISTED; i++) {
            if (listed[i].table != table)
                continue;
            uint8_t own = (listed[i].flags & READER_STRING) | (choice & 4 && i % 3 == 0 && !(listed[i].flags & IS_KEY) ? 0 : READER_WANTED);
            if (table == NUMBER_slices && (listed[i].flags & (IS_KEY | TYPE_ENUM)) == IS_KEY)
                own |= READER_SIGNED | READER_SPANNED;
            if ((choice & 128) && !(own & READER_STRING))
                own |= reduced(table, i, listed[i].flags & IS_KEY);
            if ((choice & 64) && (listed[i].flags & (IS_KEY | TYPE_ENUM)) == (IS_KEY | TYPE_ENUM))
                own |= READER_SIEVE;
            flags[at++] = own;
            layouts[table].columns++;
        }
        for (unsigned i = 0; table == NUMBER_slices && i < COUNTER_COLUMNS; i++, layouts[table].columns++)
            flags[at++] = READER_WANTED | (choice & 128 ? reduced(table, i, false) : 0);
    }
}

struct asked {
    struct reader *reader;
    unsigned schemas;
};

static int meet_schema(void *context, uint32_t file, uint32_t id, const char *text, size_t bytes)
{
    struct asked *asked = context;
    (void)file;
    (void)text;
    (void)bytes;
    int result = slicewise_reader_add_schema(asked->reader, id, TABLES, layouts, flags);
    asked->schemas += result == 0;
    return result == 0;
}

/* Every byte of every column is looked at, so that a sanitizer sees what is not there. */
static void look_at(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    volatile uint64_t sum = 0;
    for (int64_t column = 0; column < array->n_children; column++) {
        const struct ArrowArray *own = array->children[column];
        size_t width = strcmp(schema->children[column]->format, "vu") == 0 ? 16 : strcmp(schema->children[column]->format, "I") == 0 ? 4 : 8;
        const struct arrow_view *views = own->buffers[1];
        for (size_t i = 0; i < (size_t)own->length * width; i++)
            sum += ((const uint8_t *)own->buffers[1])[i];
        for (int64_t i = 0; width == 16 && i < own->length; i++)
            for (int32_t k = 0; views[i].bytes > 12 && k < views[i].bytes; k++)
                sum += ((const uint8_t *)own->buffers[2 + views[i].buffer])[views[i].offset + k];
    }
    (void)sum;
}

static void make_tables(struct reader *reader, unsigned schemas, uint8_t choice)
{
    static const char *const names[] = { "unknown", "a name", "a name that is longer than twelve bytes" };
    static const uint32_t name_bytes[] = { 7, 6, 39 }, codes[] = { 1, 2, 0 };
    static const uint8_t is_kept[] = { 1, 0, 1 };
    static int32_t tables[1024], places[LISTED + COUNTER_COLUMNS][1024];
    static const uint32_t *codes_of[1024];
    static uint32_t code_counts[1024];
    static struct reader_column columns[LISTED + COUNTER_COLUMNS];
    for (unsigned schema = 0; schema < schemas; schema++) {
        codes_of[schema] = codes;
        code_counts[schema] = 3;
    }
    for (unsigned table = 0; table < TABLES; table++) {
        uint32_t count = 0, place = 0;
        for (size_t i = 0; i < LISTED + COUNTER_COLUMNS; i++) {
            uint8_t own = i < LISTED ? listed[i].flags : 0;
            if (i < LISTED ? listed[i].table != table : table != NUMBER_slices)
                continue;
            for (unsigned schema = 0; schema < schemas; schema++) {
                tables[schema] = (int32_t)(table + (adds_up[table] && (choice & 129) == 129 ? READER_SUMS : 0));
                places[count][schema] = (int32_t)place;
            }
            place++;
            if ((own & IS_KEY) && adds_up[table] && (choice & 8) && place % 2 == 1)
                continue; /* summed over */
            columns[count] = (struct reader_column){
                .name = "a column", .type = own & IS_STRING ? READER_TEXT : own & TYPE_ENUM ? READER_NAME : READER_U64,
                .merge = own & IS_KEY ? READER_KEY : i % 4 == 1 ? READER_MAX : i % 4 == 2 ? READER_LAST : i % 4 == 3 ? READER_GREATEST : READER_SUM,
                .places = places[count], .codes = codes_of, .code_counts = code_counts, .names = names, .name_bytes = name_bytes, .name_count = 3,
                .is_kept = (own & IS_KEY) && (own & TYPE_ENUM) && (choice & 32) ? is_kept : NULL,
                .is_summed_over = (own & IS_KEY) && (own & TYPE_ENUM) && (choice & 64),
            };
            count++;
        }
        struct reader_plan plan = { .tables = tables, .columns = columns, .source_name = choice & 16 ? "profile" : NULL, .column_count = count,
                                    .adds_up = adds_up[table] };
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct reader_bound bounds[LISTED + COUNTER_COLUMNS];
        if (slicewise_reader_table(reader, &plan, bounds, &schema, &array) == 0) {
            look_at(&schema, &array);
            schema.release(&schema);
            array.release(&array);
        }
    }
}

static void put_frame(FILE *file, uint64_t process, uint32_t number, const void *payload, size_t bytes, uint32_t schema, uint32_t frame_flags)
{
    size_t room = ZSTD_compressBound(bytes);
    void *packed = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t packed_bytes = ZSTD_compress2(context, packed, room, payload, bytes);
    struct format_envelope envelope;
    format_envelope_fill(&envelope, process, number, (uint32_t)packed_bytes, schema, frame_flags);
    fwrite(&envelope, sizeof envelope, 1, file);
    fwrite(packed, packed_bytes, 1, file);
    ZSTD_freeCCtx(context);
    free(packed);
}

/* Payloads into frames of two processes. */
static void put_frames(FILE *file, const uint8_t *data, size_t size)
{
    uint32_t id = format_crc32(schema_text, sizeof schema_text), number = 0;
    put_frame(file, 0, 0, schema_text, sizeof schema_text, id, 0);
    while (size > 0) {
        const uint8_t *cut = memmem(data, size, "\xa5\x5a", 2);
        size_t bytes = cut != NULL ? (size_t)(cut - data) : size;
        put_frame(file, 1 + number % 2, number / 2, data, bytes, id, cut == NULL);
        number++;
        data += bytes + (cut != NULL ? 2 : 0);
        size -= bytes + (cut != NULL ? 2 : 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char path[64];
    int descriptor = memfd_create("profile", 0);
    FILE *file = fdopen(dup(descriptor), "wb");
    if (data[0] & 1)
        put_frames(file, data + 1, size - 1);
    else
        fwrite(data + 1, size - 1, 1, file);
    fclose(file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    lay_out(data[0]);
    struct asked asked = { 0 };
    asked.reader = slicewise_reader_new(data[0] & 32 ? 2 : 1, meet_schema, &asked);
    struct reader_file files[] = { { .path = path, .source = 0 }, { .path = path, .source = 1 } };
    if (slicewise_reader_load(asked.reader, files, 2, 2, 0) == 0)
        make_tables(asked.reader, asked.schemas, data[0]);
    slicewise_reader_free(asked.reader);
    close(descriptor);
    return 0;
}

#ifdef ALONE
static uint64_t random_state = 1;
static uint64_t next_random(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void try_mutants(const uint8_t *bytes, size_t size, unsigned rounds)
{
    uint8_t *mutant = malloc(size);
    for (unsigned round = 0; round < rounds; round++) {
        static const uint8_t telling[] = { 0, 1, 2, 4, 8, 0x7f, 0x80, 0x88, 0xff };
        memcpy(mutant, bytes, size);
        for (uint64_t hits = 1 + next_random(4); hits > 0; hits--)
            mutant[next_random(size)] = next_random(2) ? telling[next_random(sizeof telling)] : (uint8_t)next_random(256);
        LLVMFuzzerTestOneInput(mutant, next_random(4) ? size : 1 + next_random(size));
    }
    free(mutant);
}

int main(int argc, char **argv)
{
    unsigned rounds = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-r") == 0 && i + 1 < argc) {
            rounds = (unsigned)atoi(argv[++i]);
            continue;
        }
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL)
            return 2;
        static uint8_t bytes[1 << 20];
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        if (size == 0)
            continue;
        LLVMFuzzerTestOneInput(bytes, size);
        try_mutants(bytes, size, rounds);
    }
    return 0;
}
#endif
