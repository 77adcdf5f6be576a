/* Which mount the file lies on that a call was told by name. For any thread. */
#ifndef SLICEWISE_NAME_H
#define SLICEWISE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* Of a name relative to `dirfd`, as in the *at calls; without a name (NULL) that of `dirfd` itself. A call that failed may have been told a
 * name that cannot be read: then the kernel looks at it first, and what it cannot read is on no known mount. */
uint32_t name_mount(int dirfd, const char *path, bool is_failed);

/* The same of a name that a call has removed. The kernel is not asked about it: a client that does not remember which names are not there
 * would ask its server, once more for each call of the program. */
uint32_t name_mount_removed(int dirfd, const char *path);

#endif
