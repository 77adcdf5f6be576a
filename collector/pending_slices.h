/* Counts between two looks at a process, by slice, until they become rows. */
#ifndef SLICEWISE_PENDING_SLICES_H
#define SLICEWISE_PENDING_SLICES_H

#include "procfs.h"

enum { PENDING_SLICES = 8 }; /* in one table: what came before these is added to the first of them */

struct pending_slice {
    bool is_used;
    uint64_t slice, counts[KERNEL_COUNTS], unsure_ns;
};

/* When counts were read: CLOCK_REALTIME, so much before or after. */
struct looked {
    uint64_t at_ns, doubt_ns;
};

/* When counts were read, of which the reading began then: we may lose our processor for long between any two calls. */
struct looked looked_since(uint64_t before_ns);

/* The entry of a slice in a table of PENDING_SLICES: a free one where there is none yet, and where all are taken that of the latest slice. */
struct pending_slice *pending_slices_find(struct pending_slice *table, uint64_t slice);

/* Adds counts that came between two looks, spread by time over the slices in between. */
void pending_slices_add(struct pending_slice *table, uint64_t slice_ns, const struct looked *from, const struct looked *to,
                        const uint64_t counts[KERNEL_COUNTS]);

#endif
