/* Which mount an open MPI file lies on. Lookups take no lock; what does not fit the table is on the mount of all that is not known. */
#ifndef SLICEWISE_MPI_FILES_H
#define SLICEWISE_MPI_FILES_H

#include "mpi_library.h"

void mpi_files_enter(mpi_handle file, uint32_t mount);
uint32_t mpi_files_mount(mpi_handle file);

/* Forgets the file, and tells its mount once more. Before MPI closes it: afterwards another one may have the same handle. */
uint32_t mpi_files_leave(mpi_handle file);

#endif
