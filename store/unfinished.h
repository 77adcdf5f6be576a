/* Calls that had not returned when their process was killed. No wrapper counted them. The node's collector saw their threads wait, and noted in the
 * segment what the kernel had counted by then. Whoever finishes the segment makes records of it: estimates. */
#ifndef SLICEWISE_UNFINISHED_H
#define SLICEWISE_UNFINISHED_H

#include "segment.h"

/* At the process's end, before its lanes are closed: adds what its last calls had done. Nothing of a thread that has counted a call since. */
void unfinished_add(struct segment_home *home);

/* When a call was last seen under way; 0: none was. */
uint64_t unfinished_last_ns(const struct segment *segment);

#endif
