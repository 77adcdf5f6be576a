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

/* The same of a call within which the thread does I/O, which is counted by itself. `file_ns` is what communication_file_ns told at its begin. */
uint64_t communication_file_ns(void);
void communication_count_beside_files(enum mpi_class which, uint64_t start_tick, uint64_t end_tick, uint64_t file_ns);

#endif
