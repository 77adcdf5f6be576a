/* Asynchronous requests under way: what was submitted, when, and on what, until the program learns that it is complete. A table of fixed
 * size; what does not fit is counted as a problem. For any thread and any signal handler, without a lock: a request is entered before it is
 * submitted, since its completion may be seen before the submitting call returns. */
#ifndef SLICEWISE_REQUEST_H
#define SLICEWISE_REQUEST_H

#include "call.h"

struct request {
    enum operation operation;
    int fd;
    descriptor word; /* what fd led to */
    int64_t offset;
    uint64_t start_tick;
    uint64_t done_tick; /* when the program first could know that it was complete; 0: when it asked for its result */
};

/* What the program itself knows a request by: the address of its control block, or a ring and the number that it gave it. */
typedef uint64_t request_id;

static inline request_id request_of_block(const void *block)
{
    return (uint64_t)(uintptr_t)block;
}

/* A request of `operation` that starts with `call`. */
void request_begin(request_id id, enum operation operation, const struct call *call, int fd, int64_t offset);

/* The same where what `fd` led to was asked before. */
void request_begin_on(request_id id, enum operation operation, const struct call *call, int fd, descriptor word, int64_t offset);

/* It was not submitted after all. */
void request_drop(request_id id);

/* Its id is to be used anew: if it is still there, nobody will ask what became of it. */
void request_abandon(request_id id);

/* It is complete by now, and its result will be asked for. */
void request_noticed(request_id id, uint64_t tick);

/* It moved so many bytes (or 0 where it moves none), or failed (below 0), as the program learnt in `call`. Counts it, and
 * returns what it was on (0: not known here). */
descriptor request_done(request_id id, const struct call *call, int64_t moved);

/* Of how many it is not known what became of them: those under way, and those that were abandoned. */
uint64_t request_count(void);

/* A forked child has none. */
void request_forget_all(void);

#endif
