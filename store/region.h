/* Regions that a program marks: those under way become rows when they end, and whoever finishes the segment ends what is left. On any segment, by
 * whom record.h says. */
#ifndef SLICEWISE_REGION_H
#define SLICEWISE_REGION_H

#include "segment.h"

/* Whether a level of MPI_Pcontrol perhaps means something else: of its name no region has ended by itself yet. */
bool region_is_doubtful(const struct segment *segment, const struct region *region);

/* It ends now, after those within it. `is_left`: not by itself; then one that is doubtful does not count. Its place is free afterwards. */
void region_end(struct segment_home *home, struct region *region, uint64_t end_ns, bool is_left);

/* All that are under way, of all threads. */
void region_end_all(struct segment_home *home, uint64_t end_ns);

#endif
