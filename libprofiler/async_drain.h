/* How a living process's frames get to the spool without the program waiting for a file system that does not answer. While the program computes, a
 * drain helper writes them; at the program's end it waits for the helper, but no longer than SLICEWISE_EXIT_WAIT. A spool on a disk of the node's own
 * is written by the process itself. Every call here is made without the engine's lock, so that no signal is blocked meanwhile, unless it says
 * otherwise. */
#ifndef SLICEWISE_ASYNC_DRAIN_H
#define SLICEWISE_ASYNC_DRAIN_H

#include "segment.h"

/* Takes on what the process appends to spools from now on (spool_append). Until async_drain_begin_end it waits for none but the node's own disks. */
void async_drain_start(void);

/* Whether async_drain_turn has anything to do. Caller holds the lock, or does not mind an answer that is late. */
bool async_drain_is_due(void);

/* Sends frames on their way if the segment has many, and notes what became of those sent before. Takes the lock. */
void async_drain_turn(void);

/* From now on spools may be waited for, until the time that an exit may take is over. */
void async_drain_begin_end(void);

/* Has all frames of the segment in the spool. Returns 0 or -error; -SPOOL_LATE: the time is over. */
int async_drain_last(void);

/* In a forked child: what is under way is the parent's. */
void async_drain_forget(void);

#endif
