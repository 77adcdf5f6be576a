/* The shell that libc starts in the program's own environment (system, popen). */
#ifndef SLICEWISE_SHELL_H
#define SLICEWISE_SHELL_H

#include "environment.h"
#include "interpose.h"

#include <alloca.h>
#include <string.h>

/* After a call that got no shell: if that was for want of room, makes it again without what the environment has of ours, and the shell is not
 * profiled. Only in a process of one thread, since meanwhile the environment is another one. Returns whether that was done. */
static inline bool shell_again(const char *command, void (*make)(void *call), void *call)
{
    char **own = environ;
    char *const *bare = environment_fills_room(own, command) && environment_is_one_threads() ? CARRIED(own, REASON_no_room) : own;
    if (bare == own)
        return false;
    environ = (char **)(uintptr_t)bare;
    make(call);
    if (environ == bare)
        environ = own;
    int saved_errno = errno_now();
    CARRIED_END(own, bare);
    errno_put(saved_errno);
    return true;
}

#endif
