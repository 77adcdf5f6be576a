/* The table of files: those that moved most bytes and those that took most time, whenever they came. It is a Space-Saving summary with a filter (after
 * Homem and Carvalho, Finding top-k elements in data streams, 2010), kept for bytes and for time side by side. A file without a row counts in a
 * cell that its hash chooses; the cell is never less than what any one file of it has had. A file gets a row when its cell and what
 * it moved now come to more than the FILES_KEPT-th row has. Then `error` is what the cell held: so much more the file can have had before.
 * The FILES_KEPT rows with most (bytes, time) never come to more than all files together, so whoever had more than the FILES_KEPT-th part of all
 * bytes, or of all time, has a row, and no error is larger than that part.
 * Files are found by a hash without a lock. Rows are entered and given up under the engine's lock. A stream that names a row keeps it. */
#ifndef SLICEWISE_FILES_H
#define SLICEWISE_FILES_H

#include "clock.h"
#include "segment.h"

#include <fcntl.h>

static inline const struct file_cell *files_cell(const struct segment *segment, uint64_t id)
{
    return &segment->files.cells[(id >> 32) % FILE_CELLS];
}

/* A file was opened, and will be looked for when it is used: until then what must be read for that can be on its way. */
static inline void files_prefetch(const struct segment *segment, uint64_t id)
{
    __builtin_prefetch(files_cell(segment, id));
}

/* O_SYNC has O_DSYNC in it. Whether any descriptor was seen to have either: else none is asked. */
#define FILES_PAST_CACHE (O_DIRECT | O_DSYNC)
extern bool files_any_past_cache HIDDEN;

/* Gives the flags back. */
static inline int files_note_flags(int flags)
{
    if (__builtin_expect((flags & FILES_PAST_CACHE) != 0, 0))
        files_any_past_cache = true;
    return flags;
}

/* Whether the stream's file has a row, which the stream then names. */
bool files_refer(struct segment *segment, struct stream *stream);

/* Whether what the stream counted, and `more` of each on top, is enough for a row. */
bool files_is_worth(const struct segment *segment, const struct stream *stream, uint64_t more_bytes, uint64_t more_ns);

/* A write of `synced` bytes was in storage when it returned, since the call asked for that (RWF_DSYNC), whatever the descriptor's flags. 0: the
 * flags are others now, which counts if nothing was written before. */
void files_go_past_cache(struct segment *segment, const struct stream *stream, uint64_t synced);

/* Gives the stream's file a row, which the stream then names. Caller holds the lock. */
void files_enter(struct segment_home *home, struct stream *stream, uint32_t mount, const char *path);

/* Adds the stream's sums to its file's row, or to those of all other files in the lane. */
void files_add(struct segment_home *home, struct lane *lane, struct stream *stream);

/* The rows as they go into the profile. */
enum { FILE_PLACES_A_ROW = 2 };
struct file_place {
    uint16_t file, row; /* file 0: nobody's */
};
struct file_rows {
    uint64_t row[FILES_MAX][FILE_COLUMNS];
    struct file_place room[FILE_PLACES_A_ROW * FILES_MAX];
    unsigned char is_free[FILES_MAX];
};

/* One row a path, though the program opened the file by several names, or made it anew. Returns how many. */
unsigned files_rows(const struct segment *segment, struct file_rows *made);

/* At the process's end, when all streams are settled: the row of all other files. */
void files_close(struct segment_home *home);

#endif
