/* Call sites: where in the program the I/O time goes. In each stretch of SLICEWISE_SITE_MS that a thread spends in calls one instant is
 * chosen at random, and the call that it falls into is sampled: its stack, and what the sample stands for. So a site's samples are in
 * proportion to its I/O time, whatever pattern its calls have, and cost a small part of that time. The usual way of a call knows
 * nothing of it: the lane ends as early as the next instant can be, for no thread spends more time in calls than the clock shows. */
#ifndef SLICEWISE_SITE_H
#define SLICEWISE_SITE_H

#include "call.h"
#include "fast_path.h"
#include "unwind.h"

/* Whether a call that does not lie within the lane's limits would, if no sample were due. Then the lane has its full limits again. */
static inline bool site_is_all(struct thread *thread, const struct call *call)
{
    if (thread->turn_tick == thread->end_tick || thread->turn_tick == 0)
        return false;
    thread->end_tick = thread->turn_tick;
    return is_within(thread, call->start_tick, call->end_tick);
}

/* Called with each call that was not within the limits, when it has been counted: samples it if it is due, and sets the next limit.
 * `share_ns`: the part of its time that is in the lane. */
void site_look(struct thread *thread, const struct call *call, enum layer layer, uint64_t whole_ns, uint64_t share_ns, uint64_t bytes);

/* The thread has a lane, in which others may have counted before. */
void site_begin(struct thread *thread);

/* The lane is about to be emptied, or left. */
void site_settle(struct thread *thread);

/* A sample of a thread that is interrupted while it computes, which stands for so many intervals of `site_ns`. In a system call that a function makes which
 * `is_call` takes for one that is counted it is none: that call is sampled when it ends. Caller holds the lock, and the thread's guard. */
void site_computes(struct unwind_state *interrupted, uint64_t samples, bool (*is_call)(uint64_t function));

/* An address in the library that times waits of threads; 0: nobody has waited. */
extern uint64_t site_threads_code HIDDEN;

/* A forked child begins anew. */
void site_forget(void);

#endif
