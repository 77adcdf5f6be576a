/* Taking turns at I/O with other jobs, by itself: what gates do around I/O where SLICEWISE_COORDINATE asks for it (turn_client.h says how it goes).
 * The profiler opens this library only then, and provides what libprofiler/waits.h has; the gates are put in front of its wrappers at the start
 * (burst.h, mpi_turns.h). For any thread; a call that finds another thread in here passes, and so do children that run in our memory. */
#ifndef SLICEWISE_COORDINATE_H
#define SLICEWISE_COORDINATE_H

#include "waits.h"

#include <stdbool.h>
#include <stdint.h>

/* The profiler that opened this library. Never NULL in a gate, and what leads from one. */
extern const struct turn_profiler *profiler HIDDEN;

/* What gates note of a thread. */
struct turn_thread {
    uint32_t within;    /* the MPI call under way is one whose writes ask for their turn (enum mpi_turns_within), */
    uint64_t waited_ns; /* and so long they have waited for it */
};
extern __thread struct turn_thread turn_thread HIDDEN;

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
