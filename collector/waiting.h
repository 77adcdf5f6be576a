/* Where the job's threads sleep in the kernel so that no signal wakes them (state D), as those do that wait for a page of a file, for a disk,
 * for memory or for a file server. An estimate: what a look finds holds since the look before. */
#ifndef SLICEWISE_WAITING_H
#define SLICEWISE_WAITING_H

#include "belonging.h"
#include "under_way.h"

enum { WAITING_PLACES = 8, PLACE_BYTES = 64 };

struct waiting {
    uint64_t looked_ns; /* CLOCK_MONOTONIC; 0: never */
    unsigned next;      /* of the job's processes as they were scanned: the first that the next look is at */
    unsigned next_thread; /* likewise of a process's, where they are many */
    unsigned places_used;
    struct {
        char name[PLACE_BYTES]; /* a function of the kernel; empty: it does not say, or there was no room for more */
        uint64_t ns;            /* of all threads together */
    } places[WAITING_PLACES];
};

/* Looks at some of the job's processes, in turn, for them all; and at the calls in which threads sleep. */
void waiting_look(struct waiting *waiting, struct under_way_table *under_way, const struct belonging *belonging, uint64_t now_ns);

#endif
