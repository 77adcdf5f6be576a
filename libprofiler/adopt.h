/* Finishing the segment of a process that is gone: by the program that took its place, a sibling, or the collector. */
#ifndef SLICEWISE_ADOPT_H
#define SLICEWISE_ADOPT_H

#include "segment.h"

enum adoption {
    ADOPTED,       /* finished, and removed */
    ADOPT_ALIVE,   /* its process lives: not touched */
    ADOPT_BUSY,    /* somebody else is at it */
    ADOPT_FOREIGN, /* no segment of this build of the engine, or of another pid namespace */
    ADOPT_FAILED,  /* it could not be drained: `error` says why, and it stays */
};

struct adoption_result {
    enum adoption outcome;
    int error;
    char spool[1100]; /* where it drains to */
};

/* Finishes the segment file at `path` if its process is gone. A job's directory other than "" restricts it to segments that drain there. */
struct adoption_result adopt_segment(const char *path, const char *only_spool_dir);

/* Adopts every segment in this user's directory below `dir` whose name begins with `prefix`, and tells `done` (may be NULL) of each. */
void adopt_all(const char *dir, const char *prefix, const char *only_spool_dir,
               void (*done)(const char *path, const struct adoption_result *result, void *argument), void *argument);

/* The namespace that a process id counts in. */
uint64_t adopt_pid_namespace(void);

#endif
