/* A short-lived process that shares our memory and writes frames to a spool: for file systems that may not answer. A thread would not do: a thread
 * that waits in the kernel for a FUSE server cannot be killed once that has begun to answer, and a process does not end before its threads. The
 * helper has a stack and a thread pointer of its own, an empty table of descriptors, and no signal handlers (all signals are blocked). Its end sends
 * no signal, and no plain wait() reports it. It makes system calls and nothing else. */
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

/* Starts a helper with a copy of the frames. `task`, which outlives the helper, is not 0 until that has ended. NULL: `wrong` says why the order
 * cannot be filled; if that is 0, no such process is available. */
struct drain_helper *drain_helper_begin(const struct segment *segment, const void *frames, size_t bytes, _Atomic uint32_t *task, int *wrong);

/* Waits for a drain helper's end until a time of CLOCK_MONOTONIC. Returns whether it is over. */
bool drain_helper_wait(const _Atomic uint32_t *task, uint64_t until_ns);

/* After its end: settles the order in the segment and frees the drain helper. Returns what carrying it out returned. */
int drain_helper_settle(struct drain_helper *helper, struct segment *segment);

/* Gives up waiting: the helper is killed, as soon as the kernel allows that, and its memory stays until then. */
void drain_helper_abandon(struct drain_helper *helper);

/* In a forked child: the helper was the parent's. */
void drain_helper_forget(struct drain_helper *helper);

#endif
