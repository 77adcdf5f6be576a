/* Tables as a frame's payload holds them (docs/format.md). Pure: writes into a buffer of the caller's, and notes when it was too small. */
#ifndef SLICEWISE_ENCODE_H
#define SLICEWISE_ENCODE_H

#include "names.h"
#include "segment.h"

struct encoder {
    unsigned char *begin, *at, *end;
    bool is_overflowing;
};

/* Rows of a table whose columns are all u64 words (a string's word is its place in the segment's text), stored row by row. */
void encode_table(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *rows, unsigned count);

/* The same of rows that lie apart, FILES_MAX of them at most. */
void encode_rows(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *const *rows, unsigned count);

/* How many columns a table has. */
unsigned encode_columns(enum table table);

/* The table of slices, of records that lie as the segment has them: the first one last. */
void encode_records(struct encoder *encoder, const struct record *records, unsigned count);

/* The tables of communication and of waits for threads, of the same records. */
void encode_communication(struct encoder *encoder, const struct segment *segment, const struct record *records, unsigned count);

#endif
