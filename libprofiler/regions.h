/* Regions that the program marks: phases of it by name (slicewise/region.h, DFTracer's annotations) or by number (MPI_Pcontrol). They nest, each in its
 * thread. For any thread at any time, as call.h's functions are; errno stays as it is. */
#ifndef SLICEWISE_REGIONS_H
#define SLICEWISE_REGIONS_H

#include "call.h"

/* What programs call (interface/slicewise/region.h). One of this name begins. Returns what ends it; 0: it is not counted. */
__attribute__((visibility("default"))) uint64_t slicewise_region_begin(const char *name);

/* Ends it and all within it. One that is not under way in this thread is left alone, and counted. */
__attribute__((visibility("default"))) void slicewise_region_end(uint64_t token);

/* The same of an object of the program's that stands for the region; it may end more than once, and in any thread, but once and in its own that counts. */
void regions_begin_object(const void *object, const char *name);
void regions_end_object(const void *object);

/* A call of MPI_Pcontrol with a level but 0: one above 0 begins a region, which counts if the same below 0 ends it, for else the level means something
 * else. `name`: what the call seems to have been given as a name; empty: nothing. */
void regions_mark_level(int level, const char *name);

/* The thread ends, which still has its lane. Caller holds the lock. */
void regions_thread_ends(struct thread *thread);

#endif
