/* Finishing the segment of a process that is gone: by the program that took its place, a sibling, or the collector. Nothing here trusts a
 * segment: it is read by system calls into a copy, which nobody else can change or make shorter, checked, and the copy is worked on; the
 * segment itself is removed at the end, and otherwise left as it is. */
#ifndef SLICEWISE_ADOPT_H
#define SLICEWISE_ADOPT_H

#include "segment.h"

enum adoption {
    ADOPTED,       /* finished, and removed */
    ADOPT_ALIVE,   /* its process lives: not touched */
    ADOPT_BUSY,    /* somebody else is at it */
    ADOPT_FOREIGN, /* no segment of this build of the engine */
    ADOPT_UNSEEN,  /* of a pid namespace that cannot be looked into: it may live, and is not touched */
    ADOPT_FAILED,  /* it could not be drained: `error` says why, and it stays */
    ADOPT_DROPPED, /* neither, and it is gone (keep.h) */
};

struct adoption_result {
    enum adoption outcome;
    enum ending ending; /* of one that was adopted: as the process left word, else killed */
    int error;
    char spool[1100]; /* where it drains to */
};

/* Finishes the segment file at `path` if its process is gone. A job's directory other than "" restricts it to segments that drain there. */
struct adoption_result adopt_segment(const char *path, const char *only_spool_dir);

/* The same of what a program left that made way for ours by exec, where ours did nothing that counts and now ends: the process went on until
 * then, and its end is no exec. */
struct adoption_result adopt_predecessor(const char *path, enum ending ending, uint64_t end_ns);

/* The same of a file in an open directory; of `path` the last name is looked up there. */
struct adoption_result adopt_in(int dir, const char *path, const char *only_spool_dir);

/* Whether two paths lead to one directory, for such a restriction: the collector sets one that does not wait for a server that is down. */
extern bool (*adopt_is_same_directory)(const char *dir, const char *other);

/* Asked while somebody else holds a segment, who may only look whose it is: waits a little, and says whether to try again. NULL: never. */
extern bool (*adopt_waits)(void);

/* Whether a segment that cannot be drained may go, as keep_segment says: in the library, whose processes are many. */
extern bool adopt_may_drop;

/* Adopts every segment in this user's directories below `dir` whose name begins with `prefix`, and tells `done` (may be NULL) of each. */
void adopt_all(const char *dir, const char *prefix, const char *only_spool_dir,
               void (*done)(const char *path, const struct adoption_result *result, void *argument), void *argument);

/* Whether a collector has promised to come by a segment soon: who need not wait for the spool does not. */
bool adopt_is_promised(uint64_t collector_until_ns);

/* The same, in passing: of the first segments that are found, those whose processes' ids nobody has any more and no collector sees to. One
 * look into the directory and one system call a segment, however many processes a job has. */
void adopt_gone(const char *dir, const char *prefix);

/* Opens a directory of segments. Returns -errno if there is none, or if it is not this user's alone to write to. */
int adopt_open_dir(const char *user_dir);

/* Visits every file there whose name begins with `prefix`, as `user_dir`/name; those whose names begin with a dot, which are no segments, only if
 * the prefix does, or if it is NULL, which is all files. */
void adopt_each(int dir, const char *user_dir, const char *prefix, void (*visit)(int dir, const char *path, void *argument), void *argument);

/* Opens and visits every directory of segments below `dir` that is this user's alone to write to, whatever its name. */
void adopt_each_dir(const char *dir, void (*visit)(int fd, const char *user_dir, void *argument), void *argument);

/* Opens a segment file and locks it against all others who would finish or drain it; its process takes no notice. Returns ADOPTED if it is
 * the caller's now, ADOPT_BUSY or ADOPT_FOREIGN; `fd`, unless it is negative, is to be closed either way. */
int adopt_open(int dir, const char *name, int *fd);

/* A private copy of a segment, as far as it is used; NULL if that cannot be read, or
 * another build of the engine made it. */
struct segment *adopt_copy(int fd);
void adopt_drop_copy(struct segment *copy);

bool adopt_is_of_this_build(const struct segment *segment);

/* Everything that is used as an index or a length is within its bounds. */
bool adopt_is_sound(const struct segment *segment);

/* The namespace that a process id counts in. */
uint64_t adopt_pid_namespace(void);

#endif
