/* MPI-IO in Fortran that goes on while the program does: requests, and split collectives, as in mpi_nonblocking.c. For any thread that may
 * call MPI. */
#include "mpi_fortran.h"
#include "mpi_pending.h"

static void count_request(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, const fortran_int *request,
                          int error)
{
    if (call->is_counted)
        mpi_call_began(call, mpi_library_file(*file), error == 0 ? mpi_library_request_in_fortran(request, 0) : 0, count,
                       mpi_library_datatype(datatype), error);
}

static void count_split(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, int error)
{
    mpi_handle in_c = file_of(call, file);
    if (call->is_counted)
        mpi_call_began(call, in_c, mpi_pending_key_of_file(in_c), count, mpi_library_datatype(datatype), error);
}

#define begin_PARAMETERS (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *request, fortran_int *error)
#define begin_ARGUMENTS file, buffer, count, datatype, request, error
MPI_BODY(begin, , count_request(&call, file, *count, *datatype, request, *error))
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iread, mpi_file_iread, MPI_FILE_IREAD)
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iread_all, mpi_file_iread_all, MPI_FILE_IREAD_ALL)
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iread_shared, mpi_file_iread_shared, MPI_FILE_IREAD_SHARED)
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iwrite, mpi_file_iwrite, MPI_FILE_IWRITE)
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iwrite_all, mpi_file_iwrite_all, MPI_FILE_IWRITE_ALL)
FORTRAN_OF(SHAPE_ENTRY, begin, MPI_File_iwrite_shared, mpi_file_iwrite_shared, MPI_FILE_IWRITE_SHARED)

#define begin_at_PARAMETERS \
    (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *request, fortran_int *error)
#define begin_at_ARGUMENTS file, offset, buffer, count, datatype, request, error
MPI_BODY(begin_at, , count_request(&call, file, *count, *datatype, request, *error))
FORTRAN_OF(SHAPE_ENTRY, begin_at, MPI_File_iread_at, mpi_file_iread_at, MPI_FILE_IREAD_AT)
FORTRAN_OF(SHAPE_ENTRY, begin_at, MPI_File_iread_at_all, mpi_file_iread_at_all, MPI_FILE_IREAD_AT_ALL)
FORTRAN_OF(SHAPE_ENTRY, begin_at, MPI_File_iwrite_at, mpi_file_iwrite_at, MPI_FILE_IWRITE_AT)
FORTRAN_OF(SHAPE_ENTRY, begin_at, MPI_File_iwrite_at_all, mpi_file_iwrite_at_all, MPI_FILE_IWRITE_AT_ALL)

#define begin_split_PARAMETERS (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error)
#define begin_split_ARGUMENTS file, buffer, count, datatype, error
MPI_BODY(begin_split, , count_split(&call, file, *count, *datatype, *error))
FORTRAN_OF(SHAPE_ENTRY, begin_split, MPI_File_read_all_begin, mpi_file_read_all_begin, MPI_FILE_READ_ALL_BEGIN)
FORTRAN_OF(SHAPE_ENTRY, begin_split, MPI_File_read_ordered_begin, mpi_file_read_ordered_begin, MPI_FILE_READ_ORDERED_BEGIN)
FORTRAN_OF(SHAPE_ENTRY, begin_split, MPI_File_write_all_begin, mpi_file_write_all_begin, MPI_FILE_WRITE_ALL_BEGIN)
FORTRAN_OF(SHAPE_ENTRY, begin_split, MPI_File_write_ordered_begin, mpi_file_write_ordered_begin, MPI_FILE_WRITE_ORDERED_BEGIN)

#define begin_split_at_PARAMETERS (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error)
#define begin_split_at_ARGUMENTS file, offset, buffer, count, datatype, error
MPI_BODY(begin_split_at, , count_split(&call, file, *count, *datatype, *error))
FORTRAN_OF(SHAPE_ENTRY, begin_split_at, MPI_File_read_at_all_begin, mpi_file_read_at_all_begin, MPI_FILE_READ_AT_ALL_BEGIN)
FORTRAN_OF(SHAPE_ENTRY, begin_split_at, MPI_File_write_at_all_begin, mpi_file_write_at_all_begin, MPI_FILE_WRITE_AT_ALL_BEGIN)

#define end_split_PARAMETERS (fortran_int *file, void *buffer, fortran_int *status, fortran_int *error)
#define end_split_ARGUMENTS file, buffer, status, error
MPI_BODY(end_split, union mpi_status in_c; GET_STATUS, mpi_call_completed_split(&call, file_of(&call, file), status_in_c(&call, status, &in_c), *error))
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_read_all_begin, mpi_file_read_all_end, MPI_FILE_READ_ALL_END)
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_read_at_all_begin, mpi_file_read_at_all_end, MPI_FILE_READ_AT_ALL_END)
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_read_ordered_begin, mpi_file_read_ordered_end, MPI_FILE_READ_ORDERED_END)
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_write_all_begin, mpi_file_write_all_end, MPI_FILE_WRITE_ALL_END)
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_write_at_all_begin, mpi_file_write_at_all_end, MPI_FILE_WRITE_AT_ALL_END)
FORTRAN_OF(SHAPE_ENTRY, end_split, MPI_File_write_ordered_begin, mpi_file_write_ordered_end, MPI_FILE_WRITE_ORDERED_END)
