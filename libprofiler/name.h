/* Which mount the file lies on that a call was told by name. For any thread. */
#ifndef SLICEWISE_NAME_H
#define SLICEWISE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* Of a name relative to `dirfd`, as in the *at calls; without a name (NULL) that of `dirfd` itself. A call that failed may have been told a
 * name that cannot be read: then the kernel looks at it first, and what it cannot read is on no known mount. */
uint32_t name_mount(int dirfd, const char *path, bool is_failed);

#endif
