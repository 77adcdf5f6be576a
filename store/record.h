/* Closing: a lane's open slice becomes records; a batch of records becomes a frame; frames go to the spool. Of these four steps the last
 * three, on any segment. Whoever calls holds the engine's lock (a living process's segment) or the segment file's lock (a dead one's). */
#ifndef SLICEWISE_RECORD_H
#define SLICEWISE_RECORD_H

#include "segment.h"

/* Adds a closed record; packs the batch first if it is full. Returns false if there was no room. A segment that is drained apart then keeps
 * what was closed before, and the caller has the record's counts: they go into a later record, or are named as lost. */
bool record_append(struct segment_home *home, const struct record *record);

/* What a lane that had a region has counted for regions so far, of all its owners. */
void lane_sums(struct segment *segment, uint32_t lane, uint64_t sums[REGION_SUMS]);

/* Turns all that the lane counted in its open slice into records, and empties the lane. Returns false if there was no room for them: they are
 * lost if they may be, and so are those closed before; else they are still in the lane. */
bool lane_close(struct segment_home *home, uint32_t lane, bool may_drop);

/* Adds a lane's sums per file to the table of files, and frees the places that held them. */
void stream_settle(struct segment_home *home, struct lane *lane, struct stream *stream);

/* A place for a new row of a ledger's `rows`, each `columns` wide: what is full is packed. `rows_max` if there is no room. */
uint32_t ledger_place(struct segment_home *home, struct ledger *ledger, const uint64_t *rows, size_t columns, unsigned rows_max);

/* Packs what is closed into a frame. With `last`, everything else too: the process's end, files, calls and problems. Returns 0 or -errno. */
int pack_records(struct segment_home *home, bool is_last, uint32_t flags);

/* Packs what `encode` makes of the segment (and `argument`) into a frame. Returns 0 or -errno. */
struct encoder;
int pack_payload(struct segment_home *home, void (*encode)(struct encoder *, const struct segment *, const void *), const void *argument,
                 uint32_t flags);

/* Appends the packed frames to the spool, but for those that a collector has put there. Returns 0 (also if there is nothing to do) or
 * -errno; then everything stays where it is. */
int drain_frames(struct segment_home *home);

/* Appends a frame that the segment has no memory for, after those that it holds. Returns 0 or -errno. */
int drain_past_segment(struct segment_home *home, const void *frame, size_t bytes);

/* Bytes that whole frames with numbers below `number` take at the beginning of so many bytes of frames. */
size_t frames_before(const unsigned char *frames, size_t bytes, uint32_t number);

/* Closes and packs all there is, and writes the process's end. Returns 0 or -errno from packing. A segment that is drained apart loses nothing
 * where there is no room, -ENOBUFS, and can be closed again. */
int segment_close(struct segment_home *home, enum ending ending, uint64_t end_ns, uint32_t flags);

/* Closes, packs and drains all there is, and writes the process's end. Returns 0 or -errno from draining. */
int segment_finish(struct segment_home *home, enum ending ending, uint64_t end_ns, uint32_t flags);

#endif
