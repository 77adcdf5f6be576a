/* MPI-IO in C that goes on while the program does: requests, and split collectives. Each transfer is counted once, when it completes
 * (mpi_completion.c, and `_end` here). For any thread that may call MPI. */
#include "mpi_c.h"
#include "mpi_pending.h"

#define begin_PARAMETERS (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *request)
#define begin_ARGUMENTS file, buffer, count, datatype, request
MPI_BODY(begin, , mpi_call_began(&call, file, error == 0 ? mpi_library_request(request, 0) : 0, count, datatype, error))
BOTH_COUNTS(begin, MPI_File_iread)
BOTH_COUNTS(begin, MPI_File_iread_all)
BOTH_COUNTS(begin, MPI_File_iread_shared)
BOTH_COUNTS(begin, MPI_File_iwrite)
BOTH_COUNTS(begin, MPI_File_iwrite_all)
BOTH_COUNTS(begin, MPI_File_iwrite_shared)

#define begin_at_PARAMETERS (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *request)
#define begin_at_ARGUMENTS file, offset, buffer, count, datatype, request
MPI_BODY(begin_at, , mpi_call_began(&call, file, error == 0 ? mpi_library_request(request, 0) : 0, count, datatype, error))
BOTH_COUNTS(begin_at, MPI_File_iread_at)
BOTH_COUNTS(begin_at, MPI_File_iread_at_all)
BOTH_COUNTS(begin_at, MPI_File_iwrite_at)
BOTH_COUNTS(begin_at, MPI_File_iwrite_at_all)

#define begin_split_PARAMETERS (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype)
#define begin_split_ARGUMENTS file, buffer, count, datatype
MPI_BODY(begin_split, , mpi_call_began(&call, file, mpi_pending_key_of_file(file), count, datatype, error))
BOTH_COUNTS(begin_split, MPI_File_read_all_begin)
BOTH_COUNTS(begin_split, MPI_File_read_ordered_begin)
BOTH_COUNTS(begin_split, MPI_File_write_all_begin)
BOTH_COUNTS(begin_split, MPI_File_write_ordered_begin)

#define begin_split_at_PARAMETERS (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype)
#define begin_split_at_ARGUMENTS file, offset, buffer, count, datatype
MPI_BODY(begin_split_at, , mpi_call_began(&call, file, mpi_pending_key_of_file(file), count, datatype, error))
BOTH_COUNTS(begin_split_at, MPI_File_read_at_all_begin)
BOTH_COUNTS(begin_split_at, MPI_File_write_at_all_begin)

#define end_split_PARAMETERS (mpi_handle file, void *buffer, void *status)
#define end_split_ARGUMENTS file, buffer, status
MPI_BODY(end_split, GET_STATUS, mpi_call_completed_split(&call, file, status, error))
MPI_ENTRY(end_split, MPI_File_read_all_begin, MPI_File_read_all_end)
MPI_ENTRY(end_split, MPI_File_read_at_all_begin, MPI_File_read_at_all_end)
MPI_ENTRY(end_split, MPI_File_read_ordered_begin, MPI_File_read_ordered_end)
MPI_ENTRY(end_split, MPI_File_write_all_begin, MPI_File_write_all_end)
MPI_ENTRY(end_split, MPI_File_write_at_all_begin, MPI_File_write_at_all_end)
MPI_ENTRY(end_split, MPI_File_write_ordered_begin, MPI_File_write_ordered_end)
