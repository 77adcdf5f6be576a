/* Frames in, columns out: a decoder of docs/format.md that is driven by the schemas in the files and knows no table and no column by
 * name. The analyzer calls it by ctypes (analyzer/slicewise/profile/native.py, which repeats these structs): a reading is made, loads
 * files, tells what it found, makes Arrow arrays of one table after the other, and is freed. One thread at a time may use a reading; it
 * uses several of its own meanwhile. No input can crash it: no size that a file claims is believed before the bytes are there. */
#ifndef SLICEWISE_READER_H
#define SLICEWISE_READER_H

#include <stddef.h>
#include <stdint.h>

#define READER_API __attribute__((visibility("default")))

/* Changes with any change of what this header declares. */
enum { READER_INTERFACE = 6 };

/* A schema's column (bins one by one), as far as decoding needs to know it. */
enum reader_column_flags {
    READER_STRING = 1,
    READER_WANTED = 2,  /* kept for tables to be made of it */
    READER_SIGNED = 4,  /* a value of 2^63 or more is damage */
    READER_SPANNED = 8, /* each frame's least and greatest value is kept, to say what lies in the gap where a frame is missing */
    /* Kept in the table's sums, which are made while frames are decoded: rows with the same keys are added up, or the greatest value stays. */
    READER_REDUCED_KEY = 16,
    READER_REDUCED_SUM = 32,
    READER_REDUCED_MAX = 64,
    READER_REDUCED = READER_REDUCED_KEY | READER_REDUCED_SUM | READER_REDUCED_MAX,
    READER_SIEVE = 128, /* rows are not kept if the table's `left_out` has the bit of this column's value */
};

/* The number of a table's sums is so much greater than the table's. */
enum { READER_SUMS = 256 };

/* A table of a schema: its columns; whether its rows are kept (else its sums at most); what of them is left out, see READER_SIEVE. */
struct reader_layout {
    uint64_t left_out;
    uint32_t columns, is_wanted;
};

struct reader;

/* Called with the text of a schema that is new to the reading, on whatever thread met it, with the file that it lies in: reads it, calls
 * slicewise_reader_add_schema, and returns 1; or 0 if the text is no schema. Never called on two threads at once. */
typedef int reader_meet_schema(void *context, uint32_t file, uint32_t id, const char *text, size_t bytes);

struct reader_file {
    const char *path;
    uint32_t source;      /* files of one source are one job; they stand together, in the order in which the first of two frames counts */
    int32_t error;        /* why it could not be read: errno, else 0; all below is found by slicewise_reader_load */
    uint64_t bytes;
    uint64_t sound_frames;
    uint32_t marker;      /* the version in its first envelope, a character; 0: it does not begin with one */
    uint32_t is_foreign;  /* no part of it is a profile */
};

/* Bytes [begin, end) of a file that are no frame; what its envelope said where that was sound. */
struct reader_hole {
    uint64_t begin, end, process;
    uint32_t number, file;
    uint32_t has_process;
    uint32_t is_elsewhere; /* the same frame was read elsewhere, so that nothing is lost */
};

/* A process with frames that nobody has. `slices`: how many values of the spanned column lie between the frames around the gaps. */
struct reader_loss {
    uint64_t process, frames, slices, arrival;
    uint32_t source, file;
};

/* A process without its last frame. `arrival` orders processes by the place where they were first met. */
struct reader_unfinished {
    uint64_t process, arrival;
    uint32_t source, unused;
};

struct reader_source {
    uint64_t frames;    /* that count */
    uint64_t processes; /* that some frame or torn frame is of */
    uint64_t schemas;
};

enum reader_type { READER_U64, READER_I64, READER_NAME, READER_TEXT };
/* READER_GREATEST: of rows that differ in a key that is summed over, the greatest of the sums of each of its names. */
enum reader_merge { READER_KEY, READER_SUM, READER_MAX, READER_LAST, READER_GREATEST };

/* A column of a table to be made. Of each schema of the reading, in the order in which they were added: the place of the column in its
 * table, or -1. READER_NAME: how a schema's numbers translate into places in `names`, whose first entry is for unknown numbers; of a key of
 * that type, is_kept says of each name whether its rows are in the table at all (NULL: all are). is_summed_over: a key that says no more than
 * that: rows that differ in it alone become one, and the table has no such column. */
struct reader_column {
    const char *name;
    uint32_t type, merge;
    const int32_t *places;
    const uint32_t *const *codes;
    const uint32_t *code_counts;
    const char *const *names;
    const uint32_t *name_bytes;
    uint32_t name_count, is_summed_over;
    const uint8_t *is_kept;
};

/* A table to be made: rows of one source, process and keys become one. adds_up: each column by its merge; else the row of the highest
 * frame stays. `tables`: its number in each schema, or that of its sums, or -1. */
struct reader_plan {
    const int32_t *tables;
    const struct reader_column *columns;
    const char *source_name; /* of the column that says which source a row is of; NULL: there is none */
    uint32_t column_count, adds_up;
};

/* What is known of the values of a table's column of numbers: no value has a bit that `bits` lacks, and all together are less than
 * (high_sum + rows) << 32. So that numbers that no job has are found without looking at every value once more. */
struct reader_bound {
    uint64_t bits, high_sum;
};

struct ArrowSchema;
struct ArrowArray;

READER_API int slicewise_reader_interface(void);

/* One zstd frame of these bytes, with their number and a checksum, as frames of profiles have it; of at most slicewise_reader_pack_bound
 * bytes. Returns its size, or 0 if it does not fit or there is no memory. */
READER_API uint64_t slicewise_reader_pack_bound(uint64_t bytes);
READER_API uint64_t slicewise_reader_pack(void *to, uint64_t room, const void *from, uint64_t bytes, int level);

/* threads: 0 for as many as the process may use. Returns NULL if there is no memory. */
READER_API struct reader *slicewise_reader_new(unsigned threads, reader_meet_schema *meet_schema, void *context);
READER_API void slicewise_reader_free(struct reader *reader);

/* Only from within reader_meet_schema. flags: enum reader_column_flags of all tables' columns, one table after the other. Returns 0 or
 * -errno. */
READER_API int slicewise_reader_add_schema(struct reader *reader, uint32_t id, uint32_t tables, const struct reader_layout *layouts,
                                           const uint8_t *flags);

/* Reads and decodes all files, of each at most `most_bytes` (0: all), and fills in their state. Once a reading. Returns 0 or -errno. */
READER_API int slicewise_reader_load(struct reader *reader, struct reader_file *files, uint32_t count, uint32_t sources, uint64_t most_bytes);

/* What was found. The arrays live as long as the reading. */
READER_API const struct reader_hole *slicewise_reader_holes(const struct reader *reader, uint64_t *count);
READER_API const struct reader_loss *slicewise_reader_losses(const struct reader *reader, uint64_t *count);
READER_API const struct reader_unfinished *slicewise_reader_unfinished(const struct reader *reader, uint64_t *count);
READER_API const struct reader_source *slicewise_reader_sources(const struct reader *reader);
/* The schema of a source's first schema frame, as a place in the order of adding; -1 if it has none. */
READER_API int32_t slicewise_reader_first_schema(const struct reader *reader, uint32_t source);

/* Makes a struct array: the source (u32) if asked for, process (u64), then the plan's columns, sorted by source, process and keys in the plan's
 * order. Of a long table, columns of numbers and texts that no row holds are left out. The arrays own their memory and may outlive the reading.
 * bounds: one for each column of the plan, filled in. Returns 0 or -errno. */
READER_API int slicewise_reader_table(struct reader *reader, const struct reader_plan *plan, struct reader_bound *bounds, struct ArrowSchema *schema,
                                      struct ArrowArray *array);

#endif
