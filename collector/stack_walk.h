/* One thread's stack, of another process. */
#ifndef SLICEWISE_STACK_WALK_H
#define SLICEWISE_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum { STACK_WALK_FRAMES = 256 };

struct stack_walk {
    long call;        /* the system call that it waits in; -1: in none */
    bool was_stopped; /* for the walk: it ran */
    bool is_whole;    /* the walk came to the stack's end */
    unsigned count;
    uint64_t pc[STACK_WALK_FRAMES]; /* within the call instruction; the innermost frame's is where it goes on */
};

/* Opens libunwind. Returns false where it is not installed, or not known for this processor. */
bool stack_walk_open(void);

/* A thread that waits is not stopped: its stack pointer and place are what the kernel tells, and its other registers what the stack has kept, so
 * that a walk may end early. One that runs is stopped (PTRACE_SEIZE and PTRACE_INTERRUPT) and let go. Returns 0, -EPERM or -EACCES where
 * that is not allowed, -EBUSY where the thread did not stop in time, -ESRCH where it is gone. */
int stack_walk(int pid, int tid, struct stack_walk *walk);

#endif
