/* The kernel's own count of this process's I/O, less what the profiler did itself: the witness for how much the wrappers saw. For the
 * holder of the engine's lock. */
#ifndef SLICEWISE_KERNEL_H
#define SLICEWISE_KERNEL_H

#include "segment.h"

/* Notes what the kernel has counted before the process's first deed: exec keeps the counts of the program before. */
void kernel_note(void);

/* Bytes that it counted since then, of a process that counts nothing itself. */
uint64_t kernel_unseen(void);

/* What was noted is where the counts begin (if nothing was, it is now); in a forked child they begin at nothing. */
void kernel_start(struct segment_home *home, bool is_forked);

/* Adds what came since the last sample, as a record of `slice`. */
void kernel_sample(struct segment_home *home, uint64_t slice);

/* The calling thread ends. Once children are waited for, the process's count has theirs in it, and only a sum over threads is its own: then
 * what threads counted that are gone must be known. While there is no child the process's count tells, so that a thread's end costs two
 * system calls and no look at /proc. */
void kernel_thread_ends(void);

/* A child is about to begin, or (one that was vforked) to exec: the last moment at which the process's count tells what the threads that are
 * gone have counted. Called only where kernel_minds_children. */
bool kernel_minds_children(void);
void kernel_child_begins(const struct segment_home *home);

#endif
