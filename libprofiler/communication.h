/* Calls of MPI that communicate: counted on the calling thread's lane by what they are for, apart from all I/O. For any thread at any time, as
 * call.h's functions are; errno stays as it is. */
#ifndef SLICEWISE_COMMUNICATION_H
#define SLICEWISE_COMMUNICATION_H

#include "call.h"
#include "sections.h"

/* Whether communication is counted, as far as the settings say: until they are read it is. */
extern int communication_is_on __attribute__((visibility("hidden")));
void communication_choose(bool is_on);

/* Counts a call from one tick to the other. `bytes`: that its arguments name. */
void communication_count(enum mpi_class which, uint64_t start_tick, uint64_t end_tick, uint64_t bytes);

/* The same of a call within which the thread does I/O, which is counted by itself: in the frame that is the thread's mpi_frame, before the call
 * and after it. Where a slice turns meanwhile, the call's own time so far is counted in the slices in which it passed. */
void communication_open(enum mpi_class which, uint64_t start_tick);
void communication_close(enum mpi_class which, uint64_t start_tick, uint64_t end_tick);
/* The call that is open is of another class. */
void communication_open_is(enum mpi_class which);

/* For libslicewise-threads.so and libslicewise-accelerators.so: a wait (enum thread_wait) begins, and ends. One within a call of MPI is that
 * call's time, and not counted. Within one for an accelerator no other begins (0): what its library waits for is that wait. */
__attribute__((visibility("default"))) uint64_t slicewise_thread_wait_begin(void);
__attribute__((visibility("default"))) uint64_t slicewise_accelerator_wait_begin(void);
__attribute__((visibility("default"))) void slicewise_thread_wait_end(unsigned kind, uint64_t start_tick);

/* Whether a call in the frame `here` lies within the MPI call of the thread (guard_is_within). */
bool communication_contains(const void *here);

#endif
