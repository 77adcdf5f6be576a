/* Segments of processes that live, to be looked at and not touched. */
#ifndef SLICEWISE_LIVING_H
#define SLICEWISE_LIVING_H

#include "segment.h"

#include <sys/types.h>

/* A private copy of the segment file `name` of `owner`, in which no slice's counts are on their way from a lane to the totals; NULL if it is none of
 * this build, or its process does not live. To be given to adopt_drop_copy. */
struct segment *living_copy(int dir, const char *name, uid_t owner);

#endif
