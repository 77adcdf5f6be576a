/* The MPI that the program runs on, known without its mpi.h: the functions in front of which the wrappers stand, and what they need to
 * know of handles, datatypes and statuses. A handle is a machine word that passes through untouched: Open MPI's are addresses, MPICH's are
 * ints whose register's upper half is anything, so that only MPI_File (an address in both) may be compared. For any thread; the queries
 * must follow a call of MPI that succeeded with the same arguments, or MPI's error handler may end the program. */
#ifndef SLICEWISE_MPI_LIBRARY_H
#define SLICEWISE_MPI_LIBRARY_H

#include "engine.h"

typedef void *mpi_handle;
typedef int64_t mpi_offset;
typedef int64_t mpi_count;
typedef int32_t fortran_int; /* an INTEGER: Fortran's handles, counts, statuses and error codes */

/* A status of our own, for callers that ignore theirs: with room for any MPI's, in C and in Fortran. */
union mpi_status {
    void *alignment;
    fortran_int fortran[32];
};

/* Finds the function that a wrapper stands in front of, and notes it in `real`; `caller` is an address in the code that called it. */
void *mpi_library_look_up(void **real, const char *name, const void *caller);

/* Called, if it is set, with each function found: what the wrapper is to call instead. */
extern void *(*mpi_library_gate)(const char *name, void *found)HIDDEN;

/* `real`, or a function that refuses where it counts in an int that `count` does not fit. */
void *mpi_library_for_count(void *real, mpi_count count);

/* The process's place in MPI_COMM_WORLD. Returns false if MPI is not initialised, or is none whose constants are known. */
bool mpi_library_rank(int *rank, int *ranks);

/* The process's place in a communicator. Returns false as above. */
bool mpi_library_place(mpi_handle communicator, int *rank, int *ranks);

/* How many processes a communicator has. 0 of one between two groups, and where that cannot be told. */
int mpi_library_processes(mpi_handle communicator);

/* A function of this MPI, or NULL, and the constants MPI_BYTE and MPI_STATUS_IGNORE. Returns false where they are not known. */
void *mpi_library_find(const char *name);
bool mpi_library_constants(mpi_handle *byte, const void **status_ignore);

/* What `count` elements hold, without the holes between them. */
int64_t mpi_library_bytes_asked(mpi_count count, mpi_handle datatype);

/* What a read moved: the status says it. `asked` where the status is ignored, or cannot be read. */
int64_t mpi_library_bytes_read(const void *status, int64_t asked);

/* Of one status, or of an array of them. */
bool mpi_library_is_ignored(const void *status);

/* The request at a place of an array, as one number for C and Fortran; 0: this MPI's requests cannot be told apart. */
uint64_t mpi_library_request(const void *requests, unsigned place);

/* Statuses in an array, which C and Fortran lay out alike: bytes of one (0: not known), and the error that one tells. */
size_t mpi_library_status_bytes(void);
int mpi_library_status_error(const void *status);

/* The same things as Fortran has them. */
bool mpi_library_is_ignored_in_fortran(const fortran_int *status);
uint64_t mpi_library_request_in_fortran(const void *requests, unsigned place);
mpi_handle mpi_library_file(fortran_int file);
mpi_handle mpi_library_communicator(fortran_int communicator);
mpi_handle mpi_library_datatype(fortran_int datatype);
/* A Fortran status in C. Returns false where this MPI has no function for it. */
bool mpi_library_status(const fortran_int *status, union mpi_status *in_c);

#endif
