/* What a program that is about to be run is: whether this library will be loaded into it. For any process on the verge of exec, a vforked
 * child among them: nothing here uses the engine, static data, libc's allocation or much of a stack. */
#ifndef SLICEWISE_PROGRAM_H
#define SLICEWISE_PROGRAM_H

#include "names.h"

#include <limits.h>
#include <stdbool.h>

struct program {
    char path[PATH_MAX];    /* of the executable that will be loaded: a script's interpreter, symbolic links followed */
    enum reason reason;     /* why it cannot be profiled; REASON_unknown: as far as can be told, it can */
    uint64_t reads, read_bytes; /* that it took to find out */
    unsigned char part[4096];
};

/* Looks at the file that `path` (relative to `dirfd`; empty: `dirfd` itself) names. What cannot be looked at counts as one that can be profiled. */
void program_look(struct program *program, int dirfd, const char *path);

/* The same for a command that the PATH is searched for. */
void program_look_for(struct program *program, const char *command);

/* Whether the process's own program makes its system calls past libc, as Go's do. */
bool program_is_go(void);

#endif
