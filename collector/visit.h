/* Draining the segments of living processes. A process and its collector share two words and no lock: the process alone adds and removes
 * frames and says so in `commit`; the collector copies frames, appends them to the spool, and says up to which number in `collected`.
 * Either may die at any moment: what was appended and not noted is appended once more, with the same numbers, and readers take it once. */
#ifndef SLICEWISE_VISIT_H
#define SLICEWISE_VISIT_H

#include "under_way.h"

/* The processes that have a segment and live, by their pid namespace and their number in it, as the last round found them. */
enum { PROFILED_MAX = 8192 };
struct profiled {
    unsigned used;
    bool is_cut; /* there were more */
    struct {
        uint64_t pid_namespace;
        uint32_t pid;
        bool is_elsewhere; /* of another run of the same name, in another directory */
    } of[PROFILED_MAX];
};

struct visits {
    struct segment *copy;   /* one segment's head, text and frames at a time; visits_begin makes it */
    uint64_t until_ns;      /* CLOCK_MONOTONIC before which the next round comes; 0: there is none, and processes drain by themselves */
    const char *only_spool_dir; /* processes whose profiles lie elsewhere are not drained; NULL: every process is */
    bool looks_closely;     /* asks of every process whether it is the one that it seems to be, and not of those alone that are gone */
    uint64_t drained_bytes;
    unsigned alive, finished, failed;
    int error;              /* why the last one that failed did */
    struct under_way_table *under_way; /* calls that threads are in; NULL: not known */
    struct profiled *profiled; /* where to note who has a segment; NULL: nowhere */
};

/* Returns 0 or -ENOMEM. */
int visits_begin(struct visits *visits);
void visits_end(struct visits *visits);

/* Drains a living process's segment and finishes a dead one's. `argument` is a struct visits: a visitor for adopt_each. */
void visit_segment(int dir, const char *path, void *argument);

#endif
