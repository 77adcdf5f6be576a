/* Samples of a node. The segment of its collector keeps them where a process's segment has its records, until they become a frame; the commit
 * word counts them as it counts records. So whoever finishes the segment of a collector that was killed writes them. */
#ifndef SLICEWISE_SAMPLES_H
#define SLICEWISE_SAMPLES_H

#include "segment.h"

enum {
    SAMPLES_MAX = RECORDS_MAX, /* in one frame */
    SAMPLE_WORDS_MAX = sizeof(((struct segment *)0)->records) / (sizeof(uint64_t)),
};

/* One sample: the number of its words, then for each table a word (table and number of rows) and the rows. */
struct sample {
    uint64_t words[SAMPLE_WORDS_MAX];
};

void sample_begin(struct sample *sample);

/* Adds rows of a table of the node; a sample has each table once at most. */
void sample_add(struct sample *sample, enum table table, const uint64_t *rows, unsigned count);

/* Keeps a sample. Where there is no room for it, those before it become a frame. Returns 0, or -errno: then the sample is not kept. */
int samples_append(struct segment_home *home, const struct sample *sample);

/* Makes a frame of all samples that are kept. Returns 0 (also if there are none) or -errno. */
int samples_pack(struct segment_home *home, uint32_t flags);

unsigned samples_kept(const struct segment *segment);

#endif
