/* Whether a thread's bookkeeping is under way: then a signal handler must not touch the thread's lane. A handler may also jump out of the
 * bookkeeping and never come back (siglongjmp, an exception, a context that is left), and whoever finds the guard set has to tell the one from
 * the other. So the guard points to a word in the frame of the bookkeeping, and that word holds its own address: a frame that is
 * gone is found where the stack has grown down to less than it, or by other contents. For the thread itself, its handlers included. */
#ifndef SLICEWISE_GUARD_H
#define SLICEWISE_GUARD_H

#include "call.h"

/* Where a child runs as this thread (vfork_child.h): no bookkeeping is under way, but no call is a usual one. */
#define GUARD_VFORK ((void *)1)

/* `frame` is the caller's own word. Where the guard is set it is wiped: a frame that was left in this very place is then known to be gone. */
static inline bool guard_is_free(const struct thread *thread, void *volatile *frame)
{
    if (__builtin_expect(thread->frame == NULL, 1))
        return true;
    *frame = NULL;
    return false;
}

static inline void guard_set(struct thread *thread, void *volatile *frame)
{
    *frame = (void *)frame;
    *(void *volatile *)&thread->frame = (void *)frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void guard_clear(struct thread *thread)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(void *volatile *)&thread->frame = NULL;
}

/* Returns false if a handler has interrupted this thread's bookkeeping. Bookkeeping that was left for good is put right first. */
bool guard_begin(struct thread *thread, void *volatile *frame);

/* A word of the thread's stack, or of one that is no more: then false. */
bool guard_look(const void *at, void **word);

/* Whether a call in the frame `here` lies within the one in `frame`, which returns to `returns`. That one may be over without having returned: an
 * error handler may have jumped or thrown out of it. Then the stack has grown down to less than it, or the frame returns to another place now. */
bool guard_is_within(const void *here, const void *frame, const void *returns);

/* Signals that were kept blocked meanwhile are given back. */
void guard_end(struct thread *thread);

#endif
