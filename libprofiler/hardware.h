/* Hardware counters by PAPI, where SLICEWISE_PAPI asks for them: of each thread from its beginning on, read when its slice turns and when it
 * ends. PAPI is opened apart from the program's scope, so that its own I/O passes through none of our wrappers; without it, or without
 * an event, one line says so and the program runs on. A forked child's are not counted until it execs. */
#ifndef SLICEWISE_HARDWARE_H
#define SLICEWISE_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

/* Opens PAPI, which allocates, and counts in the calling thread. Called in our constructor, with a segment. */
void hardware_start(void);

/* Whether threads are to be counted; whoever begins one calls `hardware_thread_begins` in it. */
bool hardware_is_on(void);
void hardware_thread_begins(void);
void hardware_thread_ends(void);

/* Adds what this thread counted since the last time to the slices that passed meanwhile, by time; and what other threads did that were
 * not read in this slice yet, or, the last time, all of them. Caller holds the engine's lock. */
void hardware_read(uint64_t now_ns, bool is_last);

/* A forked child: what is open is its parent's. */
void hardware_forget(void);

#endif
