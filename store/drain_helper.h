/* An order that is carried out beside us, by a short-lived process that shares our memory: for file systems that may not answer. A thread would
 * not do: who waits in the kernel for a FUSE server that has begun to answer cannot be killed, and a process does not end before its threads.
 * It has a stack and a thread pointer of its own, an empty table of descriptors, no signal handlers (all signals are blocked), and its end
 * sends no signal and is seen by no plain wait(). It makes system calls and nothing else. */
#ifndef SLICEWISE_DRAIN_HELPER_H
#define SLICEWISE_DRAIN_HELPER_H

#include "spool.h"

#include <sched.h>

/* The drain helper's process shares our memory, and its end sends no signal. */
#define DRAIN_HELPER_FLAGS (CLONE_VM | CLONE_FILES | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

struct drain_helper {
    _Atomic uint32_t *task;   /* 0: it has ended */
    _Atomic uint32_t is_done; /* and not killed before */
    int pid, result;
    uint64_t began_ns;        /* CLOCK_MONOTONIC */
    uint32_t until_frame;     /* frames of lower numbers are in the spool when it is done */
    size_t mapped_bytes;
    struct spool_order order;
};

/* Sends an order on its way, with a copy of its frames. `task`, which outlives the drain helper, is not 0 until that has ended.
 * NULL: `wrong` says why the order cannot be filled, or, if that is 0, no such process can be had. */
struct drain_helper *drain_helper_begin(const struct segment *segment, const void *frames, size_t bytes, _Atomic uint32_t *task, int *wrong);

/* Waits for a drain helper's end until a time of CLOCK_MONOTONIC. Returns whether it is over. */
bool drain_helper_wait(const _Atomic uint32_t *task, uint64_t until_ns);

/* After its end: settles the order in the segment and frees the drain helper. Returns what carrying it out returned. */
int drain_helper_settle(struct drain_helper *helper, struct segment *segment);

/* Gives up waiting: it is killed, as soon as the kernel lets it be, and its memory stays until then. */
void drain_helper_abandon(struct drain_helper *helper);

/* In a forked child: it was the parent's. */
void drain_helper_forget(struct drain_helper *helper);

#endif
