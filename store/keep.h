/* What stays on a node of processes that could not bring their counts to the spool: their segments, within bounds of number, bytes and age
 * (KEPT in schema/contract.def). A segment that stays is marked by a bit of its file's mode, so that `ls` and every build can tell it from that of a
 * living process, and the file's change time says since when. Whoever keeps one more looks at what lies there, and removes what is too old; so does
 * `slicewise-collect`. System calls alone; for the process's own end, and for whoever finishes segments. */
#ifndef SLICEWISE_KEEP_H
#define SLICEWISE_KEEP_H

#include "segment.h"

/* The mark (S_ISVTX): of a file that is no program it means nothing to the kernel. */
#define KEPT_MODE 01000

enum {
#define KEPT(days, job_processes, job_bytes, user_processes, user_bytes) \
    KEPT_DAYS = days, KEPT_OF_JOB = job_processes, KEPT_OF_JOB_BYTES = job_bytes, KEPT_OF_USER = user_processes, KEPT_OF_USER_BYTES = user_bytes,
#include "contract.def"
};

struct kept {
    unsigned segments;
    uint64_t bytes;
};

/* Whether a process counted what somebody may want to know: bytes on files, a tenth of a second in I/O calls, bytes past the calls, a program
 * that could not be profiled, or anything as a rank of MPI. */
bool keep_is_worth(const struct segment *segment);

/* Marks a segment, by its name in an open directory, as one that stays. With `may_drop` (an ending process, and whoever finishes another one in
 * passing) it goes if there was little in it, or if more would stay than may. Returns whether it stays; what was lost is noted in the job's page. */
bool keep_segment(int dir, const char *name, const struct segment *segment, bool may_drop);

/* The same of the process's own, which is closed. */
bool keep_own_segment(const struct segment_home *home);

/* Adds up what stays: a visitor for adopt_each. `argument` is a struct staying. */
struct staying {
    struct kept kept;
    uint64_t since_ns; /* CLOCK_REALTIME, of the oldest */
};
void keep_count(int dir, const char *path, void *argument);

/* Removes what has stayed for too long, job pages too: a visitor for adopt_each. `argument` is a struct removal. */
struct removal {
    uint64_t now_ns; /* CLOCK_REALTIME */
    struct kept removed; /* segments */
};
void keep_remove_old(int dir, const char *path, void *argument);

/* Whether a file beside segments is a job's page, by its name. */
bool keep_is_page(const char *name);

/* Whether a directory has any segment of a job. */
bool keep_has_segments(int dir, const char *job);

#endif
