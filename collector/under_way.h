/* Calls in which the job's threads are for long, seen from outside: what a process that is killed never gets to count. A thread that waits (state D)
 * is looked at with what the kernel says of it: its call, its counts of bytes and of calls that ended. Costs the process nothing. Called by the
 * collector's one thread. */
#ifndef SLICEWISE_UNDER_WAY_H
#define SLICEWISE_UNDER_WAY_H

#include "procfs.h"
#include "segment.h"

enum { UNDER_WAY_MAX = 128, POINT_BYTES = 256, SIDES = 2 };

/* A thread that waits. */
struct under_way {
    uint32_t pid, thread, inner_pid, inner_thread;
    uint64_t pid_namespace;
    long number;         /* of the system call; NUMBER_UNTOLD: the kernel does not say */
    uint64_t argument[6];
    unsigned looks;      /* at this call */
    uint64_t earliest_ns; /* CLOCK_REALTIME: it began no sooner; 0: not known */
    uint64_t first_ns, last_ns;
    uint64_t counts[KERNEL_COUNTS]; /* of the thread, at the last look */
    uint64_t begun[SIDES];  /* bytes that the call had read and written by the first look, */
    uint64_t since[SIDES];  /* and since then */
    char point[SIDES][POINT_BYTES]; /* mount points of what it reads and writes; empty: not known */
};

struct under_way_table {
    struct under_way *of; /* NULL: nobody has been looked at yet */
    unsigned used;
};

/* Looks at a thread that waits. `former_ns`: CLOCK_REALTIME of the look at its process before; 0: there was none. */
void under_way_look(struct under_way_table *table, const char *root, uint32_t pid, uint32_t thread, uint64_t former_ns);

/* Writes into the segment of a process what calls of its threads had moved, where these have been under way for long. `copy`: the segment's head.
 * What came back meanwhile its lanes tell to whoever finishes the segment. */
void under_way_note(const struct under_way_table *table, int fd, const struct segment *copy);

#endif
