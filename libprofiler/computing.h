/* Samples of what threads compute, where SLICEWISE_COMPUTING asks for them. Each thread has a timer of its own processor time. The kernel looks at it when
 * the thread is about to return to the program (since the version that is asked for), so the signal never finds the thread within a system call:
 * no call ends with EINTR, or having moved less than it would have. The signal is 32, which glibc keeps for itself (SIGCANCEL): a program can
 * neither block nor wait for it, nor have a handler of its own; glibc's takes no signal of a timer for its own. */
#ifndef SLICEWISE_COMPUTING_H
#define SLICEWISE_COMPUTING_H

#include "call.h"

/* With a segment, in the thread that starts the engine; the process's first thread is sampled from now on. Caller holds no lock. */
void computing_start(void);

/* Whether threads are to be sampled; whoever begins one calls `computing_thread_begins` in it. Few processes touch the pages of the functions. */
extern bool computing_samples HIDDEN;
static inline bool computing_is_on(void)
{
    return computing_samples;
}
void computing_thread_begins(void);
void computing_thread_ends(struct thread *thread);

/* No more samples, of no thread. */
void computing_stop(void);

/* A forked child: the timers are its parent's. */
void computing_forget(void);

/* Whether a function of ours is a call of libc's that is counted for itself: the wrappers' entry.c says so. */
HIDDEN bool entry_is_body(uint64_t function) __attribute__((weak));

#endif
