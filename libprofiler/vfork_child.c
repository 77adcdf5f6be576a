#include "vfork_child.h"

#include "clock.h"
#include "environment.h"
#include "guard.h"

START_DATA _Atomic uint32_t vfork_children;
static uint32_t parent_pid; /* the process whose memory it is */
static START_DATA bool has_unsynchronized_child, has_child_that_stands_down;

void vfork_child_begin(bool shares_thread)
{
    struct thread *thread = &thread_state;
    if (atomic_load(&vfork_children) == 0)
        parent_pid = (uint32_t)raw_getpid();
    atomic_fetch_add(&vfork_children, 1);
    if (!shares_thread)
        return;
    if (thread->vfork_depth++ == 0)
        thread->frame_before_vfork = thread->frame;
    if (thread->frame == NULL)
        thread->frame = GUARD_VFORK;
}

void vfork_child_end(bool shares_thread)
{
    struct thread *thread = &thread_state;
    if (atomic_fetch_sub(&vfork_children, 1) == 1 && has_child_that_stands_down) {
        has_child_that_stands_down = false;
        clock_use_counter_again();
    }
    if (!shares_thread)
        return;
    /* The child may have been killed anywhere. */
    thread->keeps_signals = thread->holds_lock = 0;
    environment_vfork_end();
    thread->vfork_depth--;
    thread->frame = thread->vfork_depth > 0 ? GUARD_VFORK : thread->frame_before_vfork;
}

void vfork_child_begin_unwaited(bool shares_thread)
{
    vfork_child_begin(shares_thread);
    has_unsynchronized_child |= shares_thread;
}

void vfork_child_forget(void)
{
    atomic_store(&vfork_children, 0);
    has_unsynchronized_child = has_child_that_stands_down = false;
    thread_state.vfork_depth = 0;
    if (thread_state.frame == GUARD_VFORK)
        thread_state.frame = NULL;
}

void vfork_child_restore(uint32_t vfork_depth)
{
    thread_state.vfork_depth = vfork_depth;
    thread_state.frame = vfork_depth > 0 ? GUARD_VFORK : NULL;
}

bool vfork_child_asks_kernel(void)
{
    return (uint32_t)raw_getpid() != parent_pid;
}

void vfork_child_stands_down(void)
{
    has_child_that_stands_down = true;
}

bool vfork_child_is_left_alone(void)
{
    return has_child_that_stands_down || (has_unsynchronized_child && vfork_child_asks_kernel());
}
