/* Children that run in our memory but not on our descriptors, until they exec or end: of vfork, and of clone with CLONE_VM and without CLONE_FILES.
 * What such a child opens, closes and copies changes its own table of descriptors, so it must not be noted in ours; and ours says nothing of the
 * child's. Only while there is such a child do callers ask the kernel which of the two processes they are. For any thread. */
#ifndef SLICEWISE_VFORK_CHILD_H
#define SLICEWISE_VFORK_CHILD_H

#include "call.h"

/* Children under way that have our memory. */
extern _Atomic uint32_t vfork_children HIDDEN;

/* Before such a child begins and, in the parent, when it has gone its own way. `shares_thread`: the child runs as the calling thread, which
 * waits for it (vfork). One that nobody waits for is never over. */
void vfork_child_begin(bool shares_thread);
void vfork_child_end(bool shares_thread);

/* A child that runs as a thread of ours which runs on as well: what they do to that thread's state cannot be told apart. */
void vfork_child_begin_unwaited(bool shares_thread);

/* In a forked child: it has no such children, and is none. */
void vfork_child_forget(void);

/* The thread's state was made anew while so many children ran as this thread. */
void vfork_child_restore(uint32_t vfork_depth);

bool vfork_child_asks_kernel(void);

static inline bool vfork_child_is_caller(void)
{
    return __builtin_expect(atomic_load_explicit(&vfork_children, memory_order_relaxed) != 0, 0) && vfork_child_asks_kernel();
}

/* The child installed a filter of system calls: until it is gone, it makes none of ours. */
void vfork_child_stands_down(void);
/* Whether the caller is such a child that must be left alone. */
bool vfork_child_is_left_alone(void);

#endif
