/* What lies on this node: on a disk, or in memory. Only such a file system may be waited for without a deadline. Asks no server. Not for several
 * threads at a time. */
#ifndef SLICEWISE_LOCAL_H
#define SLICEWISE_LOCAL_H

#include "segment.h"

/* Opens a directory (O_PATH) if it is known at once to be there, and to be local. Returns a descriptor, or less than 0. */
int local_open(const char *path);
bool local_is_dir(const char *path);

/* The same of the directory of profiles that a segment drains to. The mounts of our own process's segment are as it says. */
int local_open_profiles(const struct segment *segment, bool is_our_own);

#endif
