/* A copy of a communicator, for messages of our own, by MPI's functions that do not wait. For any thread that may call MPI. */
#ifndef SLICEWISE_MPI_COPY_H
#define SLICEWISE_MPI_COPY_H

#include "mpi_library.h"

/* It is there for every process of the communicator, or for none, when the request is done. Returns false where this MPI has not what that takes. */
bool mpi_copy_begin(mpi_handle communicator, mpi_handle *copy, mpi_handle *request);
bool mpi_copy_is_done(mpi_handle *request);

/* Rank 0's number goes to all processes of a copy, and is there when the request is done. The copy is given back. */
bool mpi_copy_begin_telling(mpi_handle communicator, uint64_t *number, mpi_handle *request);
void mpi_copy_free(mpi_handle communicator);

#endif
