/* What the reader's files share: a reading's parts, from bytes to rows. */
#ifndef SLICEWISE_READER_INSIDE_H
#define SLICEWISE_READER_INSIDE_H

#include "reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <zstd.h>

/* format.md: a reader may refuse more. */
#define MOST_PAYLOAD_BYTES ((size_t)64 << 20)
#define MOST_ROWS_WITHOUT_BYTES 4096u

enum { SCHEMAS_MAX = 1024, THREADS_MAX = 64 };

/* A list that grows. `items` is malloc's. */
struct list {
    void *items;
    size_t count, room;
};
/* Returns the place of one more item, which is zeroed, or NULL if there is no memory. */
void *list_add(struct list *list, size_t item_bytes);

/* Memory that is freed all at once; in blocks. */
struct arena {
    struct arena_block *blocks;
    unsigned char *at, *end;
};
/* Aligned to 8 bytes. Returns NULL if there is no memory. */
void *arena_take(struct arena *arena, size_t bytes);
void arena_free(struct arena *arena);

/* Room that is used again and again, by one thread. */
struct scratch {
    void *bytes;
    size_t room;
};
/* At least so many bytes; what was in it is lost. Returns NULL if there is no memory. */
void *scratch_take(struct scratch *scratch, size_t bytes);

enum { SCRATCH_KEYS, SCRATCH_PACKED, SCRATCH_SORTED, SCRATCH_ORDER, SCRATCH_COLUMNS, SCRATCHES };

/* A thread's own things. */
struct worker {
    struct reader *reader;
    uint32_t file; /* that it works on */
    struct arena arena;
    ZSTD_DCtx *unpacker;
    struct scratch payload, scratches[SCRATCHES];
};

struct table_layout {
    uint32_t columns;
    int32_t sieve; /* the place of the column that `left_out` is about */
    uint64_t left_out;
    bool is_wanted, is_reduced;
    const uint8_t *flags;
};

struct schema {
    uint32_t id;
    size_t text_bytes, packed_bytes;
    char *text;
    unsigned char *packed; /* as it lay in a file: most of its copies are the same bytes */
    uint32_t table_count;
    struct table_layout *tables; /* NULL until slicewise_reader_add_schema has come */
    uint8_t *flags;
};

/* A column of a chunk as it lay in the payload. Of a single row the value is the base. */
struct stored {
    const unsigned char *values;
    uint64_t base;
    uint16_t place;
    uint8_t width; /* 0, 1, 2, 4, 8; WIDTH_TEXT: lengths (u16), then all bytes */
};
enum { WIDTH_TEXT = 0xff };

/* Rows of one table of one frame: the present columns that are wanted, in the order of their places. */
struct chunk {
    struct chunk *next;
    uint32_t rows;
    uint16_t table, column_count; /* table: its number, and READER_SUMS more where these are sums of rows */
    struct stored columns[];
};

enum frame_state {
    FRAME_UNREAD,
    FRAME_UNSOUND,     /* its zstd frame is torn or damaged */
    FRAME_SCHEMA,      /* a schema that can be used */
    FRAME_BAD_SCHEMA,  /* a sound frame that is no such schema */
    FRAME_PENDING,     /* sound, of a schema that was not known yet */
    FRAME_DECODED,
    FRAME_BAD_PAYLOAD, /* sound, but not what its schema says */
};

struct frame {
    uint64_t begin, end, process;
    uint64_t least, greatest; /* of the spanned column */
    struct chunk *chunks;
    const unsigned char *packed; /* of a pending frame: a copy */
    uint32_t number, flags, schema_id, packed_bytes;
    uint32_t schema; /* the place of its schema in the reading */
    uint8_t state;
    bool has_span, is_late; /* late: it came before its schema */
};

/* A file while it is loaded, and its frames and holes for good. */
struct file {
    struct reader_file *told;
    unsigned char *bytes;
    size_t size;
    struct list frames; /* struct frame, in the order of their places */
    struct list holes;  /* struct reader_hole */
    bool is_regular;    /* envelope upon envelope, without a hole between them */
};

/* Frames that count, in the order of source, process and number. */
struct taken {
    struct frame *frame;
    uint32_t source;
};

/* A chunk of a frame that counts: `taken`, its place among those. */
struct chunk_place {
    const struct chunk *chunk;
    uint32_t taken;
};
enum { TABLES_MAX = 2 * READER_SUMS };

struct reader {
    reader_meet_schema *meet_schema;
    void *context;
    unsigned thread_count;
    struct worker workers[THREADS_MAX];
    pthread_mutex_t schema_lock; /* guards adding to `schemas` */
    struct schema *schemas[SCHEMAS_MAX];
    atomic_uint schema_count;
    struct schema *met; /* the one that meet_schema was called for */
    atomic_bool is_out_of_memory;
    struct file *files;
    uint32_t file_count, source_count;
    struct list taken, holes, losses, unfinished;
    struct chunk_place *chunks; /* by the number of their table, and then in the order of `taken` */
    size_t chunks_from[TABLES_MAX + 1];
    struct reader_source *sources;
    int32_t *first_schemas;
};

/* work.c: runs body(worker, i, argument) for all i below count, on several threads, and returns when all are done. */
void work_in_parallel(struct reader *reader, size_t count, bool is_little, void (*body)(struct worker *, size_t, void *), void *argument);

/* unpack.c */
struct format_envelope;
void unpack_prepare(void);
uint32_t unpack_crc32(const void *bytes, size_t size);
/* The sound envelope at that place; false if there is none. */
bool unpack_envelope(const unsigned char *bytes, size_t size, size_t at, struct format_envelope *envelope);
/* Where the next sound envelope begins; `size` if there is none. */
size_t unpack_next_envelope(const unsigned char *bytes, size_t size, size_t begin);
/* The payload of a zstd frame, valid until the worker's next; NULL if it is torn, damaged, unchecked or implausibly large. */
const unsigned char *unpack_payload(struct worker *worker, const unsigned char *packed, size_t packed_bytes, size_t *payload_bytes);

/* chunk.c: decodes a payload into frame->chunks. False if it is not what the schema says, or if there is no memory. */
bool chunk_decode(struct worker *worker, const struct schema *schema, const unsigned char *payload, size_t bytes, struct frame *frame);

/* reduce.c: adds a chunk's rows up over the keys that no flag READER_REDUCED_KEY is set for. `into` stays as it is where too many different
 * keys are left. False if there is no memory. */
bool reduce_rows(struct worker *worker, const struct table_layout *table, const struct stored *columns, unsigned count, uint32_t rows,
                 struct chunk **into);

/* A sum that has no room stays the greatest number: no job has it, and so what no job has is still seen in the sum. */
static inline uint64_t number_sum(uint64_t one, uint64_t other)
{
    uint64_t sum = one + other;
    return sum < one ? UINT64_MAX : sum;
}

/* schema.c: the place of the schema in the reading, or -1. `text` must fit its id, and must not differ from an earlier one of that id. */
int schema_meet(struct worker *worker, uint32_t id, const unsigned char *packed, size_t packed_bytes, const unsigned char *text, size_t text_bytes);
/* The same by a copy of its packed bytes alone: -1 if they are new. */
int schema_find_packed(struct reader *reader, uint32_t id, const unsigned char *packed, size_t packed_bytes);
int schema_find(struct reader *reader, uint32_t id);
void schema_free(struct schema *schema);

/* book.c: which frames count, and what is missing. Returns 0 or -ENOMEM. */
int book_make(struct reader *reader);

#endif
