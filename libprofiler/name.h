/* Which mount the file lies on that a call was told by name. The kernel is asked once in a while, not at each call: for NAME_KNOWN_NS an answer holds for
 * its thread, so that what others do to names and mounts meanwhile is noticed then, and what the process does itself at once. For any thread. */
#ifndef SLICEWISE_NAME_H
#define SLICEWISE_NAME_H

#include "call.h"

/* How long an answer holds: asking each millisecond costs a program that does nothing else 0.06 %, and no mount is made in less. */
#define NAME_KNOWN_NS 1000000

/* The mount of a name relative to `dirfd`, as in the *at calls; without a name (NULL) that of `dirfd` itself. Where the call was on an entry of a directory, or
 * found nothing, it is the directory's, or that of the deepest one on the way to it that there is. A call that failed may have been told a name that
 * cannot be read, which is on no known mount. Nobody is asked about the name of a file that was removed. */
uint32_t name_mount(const struct call *call, int dirfd, const char *path, bool is_failed);

/* A call on names succeeded: those that others lead through may now lead elsewhere. */
void name_changed(enum operation operation);

/* These numbers grow when names that lead through others may lead elsewhere, the second also when a name was removed. */
extern _Atomic uint64_t name_changes HIDDEN, name_removals HIDDEN;

/* Nothing is known any more: another root or working directory, other mounts, or a forked child, whose mounts have numbers of their own. */
void name_forget(void);

#endif
