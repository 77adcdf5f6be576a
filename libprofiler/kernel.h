/* The kernel's own count of this process's I/O, less what the profiler did itself: the witness for how much the wrappers saw. For the
 * holder of the engine's lock. */
#ifndef SLICEWISE_KERNEL_H
#define SLICEWISE_KERNEL_H

#include "segment.h"

/* Notes what the kernel has counted already (exec keeps the counts of the program before), or that there is nothing yet, in a forked child. */
void kernel_start(struct segment_home *home, bool is_forked);

/* Adds what came since the last sample, as a record of `slice`. */
void kernel_sample(struct segment_home *home, uint64_t slice);

/* The calling thread ends: its share would be lost to a sum over living threads. */
void kernel_thread_ends(void);

#endif
