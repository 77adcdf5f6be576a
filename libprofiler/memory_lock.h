#ifndef SLICEWISE_MEMORY_LOCK_H
#define SLICEWISE_MEMORY_LOCK_H

/* mlockall, as it were without our memory: the program's own is locked, and filled as it asks for, and counts alone against its limit. Returns 0
 * or -errno. */
long memory_lock_all(long flags);

/* From now on memory_lock_all is the program's call and nothing else: a filter is about to forbid some of the calls that sparing ours takes. */
void memory_lock_plainly(void);

#endif
