#include "guard.h"

#include "async_drain.h"
#include "state.h"

#include <signal.h>

/* What the kernel puts between a frame that it interrupts and its handler's is longer than this on every processor. */
#define SIGNAL_FRAME_LEAST 512
/* Between a frame and one so near there is no end of a stack: what lies there is memory. */
#define NEAR_BYTES 4096

/* By the kernel, since the stack may be no more. */
bool guard_look(const void *at, void **word)
{
    struct iovec here = { word, sizeof *word }, there = { (void *)at, sizeof *word };
    return raw_result(syscall(SYS_process_vm_readv, raw_getpid(), &here, 1, &there, 1, 0)) == sizeof *word;
}

/* Whether the word at the guard still holds its own address. */
static bool is_intact(void *frame)
{
    void *found = NULL;
    return guard_look(frame, &found) && found == frame;
}

static bool is_on_stack(const stack_t *stack, uintptr_t address)
{
    return address - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* Whether `frame`, whose owner interrupted us or is a frame that was left, was left: it is not below us on our stack any more. `here` is our
 * caller's word in a frame of its own. */
static bool is_left(void *frame, void *volatile *here)
{
    uintptr_t of_guard = (uintptr_t)frame, ours = (uintptr_t)here;
    if (of_guard - ours < SIGNAL_FRAME_LEAST) /* the same stack, and no room for a handler between */
        return true;
    if (!is_intact(frame))
        return true;
    if (of_guard > ours)
        return false;
    /* We stand above it: on the same stack it is gone, but a handler's own stack may lie anywhere. */
    stack_t alternate;
    if (raw_result(syscall(SYS_sigaltstack, NULL, &alternate)) < 0 || (alternate.ss_flags & SS_ONSTACK) == 0)
        return true;
    return is_on_stack(&alternate, of_guard);
}

bool guard_is_within(const void *here, const void *frame, const void *returns)
{
    void **place = (void **)frame + 1, *found; /* the word above a frame's own is where it returns to, wherever there are frames */
    if (here >= frame)
        return false;
    if ((uintptr_t)place - (uintptr_t)here < NEAR_BYTES)
        return *(void *volatile *)place == returns;
    return guard_look(place, &found) && found == returns;
}

/* The lane and its streams are whole after every instruction; what may be missing is part of the one call that was being counted. */
static void put_right(struct thread *thread)
{
    thread->frame = NULL;
    __atomic_fetch_add(&engine.home.segment->problems[PROBLEM_counting_left], 1, __ATOMIC_RELAXED);
    lock_give_signals_back(thread);
}

bool guard_begin(struct thread *thread, void *volatile *frame)
{
    if (thread->frame != NULL && thread->frame != GUARD_VFORK) {
        if (!is_left(thread->frame, frame))
            return false;
        put_right(thread);
    }
    guard_set(thread, frame);
    return true;
}

void guard_end(struct thread *thread)
{
    bool was_at_lock = thread->keeps_signals;
    guard_clear(thread);
    if (thread->vfork_depth > 0)
        thread->frame = GUARD_VFORK;
    lock_give_signals_back(thread);
    if (was_at_lock && async_drain_is_due())
        async_drain_turn();
}
