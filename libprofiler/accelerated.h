/* What accelerators do for the process, by slice and kind: told by libslicewise-accelerators.so, which is preloaded where it is asked for. For any
 * thread at any time; errno stays as it is. */
#ifndef SLICEWISE_ACCELERATED_H
#define SLICEWISE_ACCELERATED_H

#include <stdint.h>

/* A kernel, a copy or a fill, that ran from the one moment to the other (CLOCK_REALTIME). */
struct accelerated_work {
    uint64_t kind; /* enum accelerated */
    uint64_t begin_ns, end_ns, bytes;
};

/* Counts them in the slices in which they ran, however long ago. What cannot have been is counted as a problem. */
__attribute__((visibility("default"))) void slicewise_accelerated(const struct accelerated_work *work, unsigned count);

/* So much work was lost; 0: none of the process's work can be seen. */
__attribute__((visibility("default"))) void slicewise_accelerators_failed(uint64_t lost);

#endif
