#ifndef SLICEWISE_MEMORY_LOCK_H
#define SLICEWISE_MEMORY_LOCK_H

/* mlockall, as it were without our memory: the program's own is locked, and filled as it asks for, and counts alone against its limit. Returns 0
 * or -errno. */
long memory_lock_all(long flags);

#endif
