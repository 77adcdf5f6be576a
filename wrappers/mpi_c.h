/* What wrappers of MPI-IO in C share. */
#ifndef SLICEWISE_MPI_C_H
#define SLICEWISE_MPI_C_H

#include "mpi_call.h"

/* Each transfer has two functions. One counts in an int, of whose register only the lower half is defined, the other (`_c`) in an
 * MPI_Count. */
#define BOTH_COUNTS(ENTRY, name) \
    ENTRY(name, name, int) \
    ENTRY(name, name##_c, mpi_count)

#define MPI_REAL_FOR_COUNT(name, count) ((__typeof__(real_##name))mpi_library_for_count((void *)MPI_REAL(name), count))

/* A caller that ignores the status of a read gets one of ours to fill. */
static inline void *status_for(const struct mpi_call *call, void *status, union mpi_status *own)
{
    return mpi_call_wants_status(call) && mpi_library_is_ignored(status) ? own : status;
}

#endif
