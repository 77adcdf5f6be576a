/* Acting for a user: root's collector takes on the rights of those whose segments it touches, and never goes back. */
#ifndef SLICEWISE_USER_H
#define SLICEWISE_USER_H

#include <sys/types.h>

/* The number of the user of that name or number. Prints that there is none. Returns 0, or the exit status. */
int user_find(const char *name, uid_t *uid);

/* Becomes the user of that name or number, groups and all. Prints why it cannot. Returns 0, or the exit status. */
int user_become(const char *name);

/* Calls `act` in a child of its own for every user who has a directory of segments in `dirs` (NULL at the end), as that user; root's call. For others
 * than the caller only if it has changed since then. Returns the greatest exit status of all. */
int user_each(const char *const *dirs, time_t since, int (*act)(void *argument), void *argument);

#endif
