/* Taking turns at I/O with other jobs, by itself: what wrappers do around I/O where SLICEWISE_COORDINATE asks for it (store/turn_client.h says how it
 * goes). Nothing of this is reached where it does not: wrappers that take part are put in the way at the start (wrappers/burst.c,
 * wrappers/mpi_turns.c). For any thread; a call that finds another thread in here passes, and so do children that run in our memory. */
#ifndef SLICEWISE_COORDINATE_H
#define SLICEWISE_COORDINATE_H

#include "call.h"
#include "settings.h"

/* Makes this process ready to take turns, if it can: at the start, where SLICEWISE_COORDINATE asks for it. */
void coordinate_start(void);

/* Before I/O of so many bytes by so many processes (0: another process of the job has told of them): waits for the job's turn. A run of such calls
 * without a pause is one phase, and others may get their turn between two of them. Returns the time that it waited, in ns; it is counted. */
uint64_t coordinate_enter(uint64_t bytes, uint32_t processes);

/* After it: so many bytes were moved since it was last told of any. */
void coordinate_leave(uint64_t bytes);

/* So many belonged to the phase as well, outside of these calls. */
void coordinate_moved(uint64_t bytes);

/* The phase is over, as far as one can tell. */
void coordinate_end(void);

/* Whether it still does; so does a process that gave up no longer. */
bool coordinate_is_on(void);

/* Counts as the process's a wait that ends now, or a part of one: of a rank that waited for the one that asked; all else is counted already.
 * `is_new`: it is not the rest of a wait. */
void coordinate_count(uint64_t ns, bool is_new);

/* So many ticks lie within the call that this thread counts next, and are none of its time. */
void coordinate_take_off(uint64_t ticks);

/* For good: with a line that says why, or without a word. */
void coordinate_give_up(const char *why);
void coordinate_stop(void);

/* A child of fork begins anew. */
void coordinate_begin_child(void);

uint64_t coordinate_deadline_ns(void);
uint64_t coordinate_burst_bytes(void);
enum turn_step coordinate_step(void);
bool coordinate_has_reads(void);

#endif
