#include "lend.h"

#include "clock.h"
#include "environment.h"
#include "guard.h"

START_DATA _Atomic uint32_t lend_children;
static uint32_t lender; /* the process whose memory it is */
static bool has_unsynchronized_child, has_child_that_stands_down;

void lend_begin(bool shares_thread)
{
    struct thread *thread = &thread_state;
    if (atomic_load(&lend_children) == 0)
        lender = (uint32_t)raw_getpid();
    atomic_fetch_add(&lend_children, 1);
    if (!shares_thread)
        return;
    if (thread->lendings++ == 0)
        thread->lent_frame = thread->frame;
    if (thread->frame == NULL)
        thread->frame = GUARD_LENT;
}

void lend_end(bool shares_thread)
{
    struct thread *thread = &thread_state;
    if (atomic_fetch_sub(&lend_children, 1) == 1 && has_child_that_stands_down) {
        has_child_that_stands_down = false;
        clock_use_counter_again();
    }
    if (!shares_thread)
        return;
    /* The child may have been killed anywhere. */
    thread->keeps_signals = thread->holds_lock = 0;
    environment_lent_end();
    thread->lendings--;
    thread->frame = thread->lendings > 0 ? GUARD_LENT : thread->lent_frame;
}

void lend_for_good(bool shares_thread)
{
    lend_begin(shares_thread);
    has_unsynchronized_child |= shares_thread;
}

void lend_forget(void)
{
    atomic_store(&lend_children, 0);
    has_unsynchronized_child = has_child_that_stands_down = false;
    thread_state.lendings = 0;
    if (thread_state.frame == GUARD_LENT)
        thread_state.frame = NULL;
}

void lend_go_on(uint32_t lendings)
{
    thread_state.lendings = lendings;
    thread_state.frame = lendings > 0 ? GUARD_LENT : NULL;
}

bool lend_asks_whether_child(void)
{
    return (uint32_t)raw_getpid() != lender;
}

void lend_child_stands_down(void)
{
    has_child_that_stands_down = true;
}

bool lend_is_left_alone(void)
{
    return has_child_that_stands_down || (has_unsynchronized_child && lend_asks_whether_child());
}
