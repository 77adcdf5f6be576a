/* MPI-IO in Fortran: every argument is an address, strings are padded with blanks and their lengths come last (a size_t in gfortran; where
 * it is an int the rest of the word is not looked at), and the error code is an argument, which mpi_f08 may leave out. For any thread that
 * may call MPI. */
#include "mpi_call.h"
#include "mpi_files.h"
#include "mpi_fortran.h"

#include <limits.h>
#include <string.h>

/* A Fortran string as C has it, in `text`; blanks around it are not part of it. */
static void copy_name(char text[PATH_MAX], const char *name, size_t length)
{
    length = (uint32_t)length;
    while (length > 0 && name[length - 1] == ' ')
        length--;
    while (length > 0 && *name == ' ') {
        name++;
        length--;
    }
    length = length < PATH_MAX ? length : PATH_MAX - 1;
    memcpy(text, name, length);
    text[length] = '\0';
}

#define NAME_IN_C \
    char name_in_c[PATH_MAX]; \
    copy_name(name_in_c, name, name_length)

#define open_file_PARAMETERS \
    (fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info, fortran_int *file, fortran_int *error, size_t name_length)
#define open_file_ARGUMENTS communicator, name, mode, info, file, error, name_length
MPI_BODY(open_file, , NAME_IN_C; mpi_call_opened(&call, name_in_c, file_of(&call, file), *error))
FORTRAN_OF(SHAPE_ENTRY, open_file, MPI_File_open, mpi_file_open, MPI_FILE_OPEN)

#define delete_file_PARAMETERS (char *name, fortran_int *info, fortran_int *error, size_t name_length)
#define delete_file_ARGUMENTS name, info, error, name_length
MPI_BODY(delete_file, , NAME_IN_C; mpi_call_named(&call, name_in_c, *error))
FORTRAN_OF(SHAPE_ENTRY, delete_file, MPI_File_delete, mpi_file_delete, MPI_FILE_DELETE)

#define close_file_PARAMETERS (fortran_int *file, fortran_int *error)
#define close_file_ARGUMENTS file, error
MPI_BODY(close_file, uint32_t mount = mpi_files_leave(file_of(&call, file)), mpi_call_closed(&call, mount, *error))
FORTRAN_OF(SHAPE_ENTRY, close_file, MPI_File_close, mpi_file_close, MPI_FILE_CLOSE)

#define sync_file_PARAMETERS (fortran_int *file, fortran_int *error)
#define sync_file_ARGUMENTS file, error
MPI_BODY(sync_file, , mpi_call_touched(&call, file_of(&call, file), *error))
FORTRAN_OF(SHAPE_ENTRY, sync_file, MPI_File_sync, mpi_file_sync, MPI_FILE_SYNC)

#define set_view_PARAMETERS \
    (fortran_int *file, mpi_offset *displacement, fortran_int *etype, fortran_int *filetype, char *representation, fortran_int *info, \
     fortran_int *error, size_t representation_length)
#define set_view_ARGUMENTS file, displacement, etype, filetype, representation, info, error, representation_length
MPI_BODY(set_view, , mpi_call_touched(&call, file_of(&call, file), *error))
FORTRAN_OF(SHAPE_ENTRY, set_view, MPI_File_set_view, mpi_file_set_view, MPI_FILE_SET_VIEW)

#define attribute_PARAMETERS (fortran_int *file, void *value, fortran_int *error)
#define attribute_ARGUMENTS file, value, error
MPI_BODY(attribute, , mpi_call_touched(&call, file_of(&call, file), *error))
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_get_size, mpi_file_get_size, MPI_FILE_GET_SIZE)
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_get_position_shared, mpi_file_get_position_shared, MPI_FILE_GET_POSITION_SHARED)
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_set_size, mpi_file_set_size, MPI_FILE_SET_SIZE)
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_preallocate, mpi_file_preallocate, MPI_FILE_PREALLOCATE)
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_set_info, mpi_file_set_info, MPI_FILE_SET_INFO)
FORTRAN_OF(SHAPE_ENTRY, attribute, MPI_File_set_atomicity, mpi_file_set_atomicity, MPI_FILE_SET_ATOMICITY)

#define seek_PARAMETERS (fortran_int *file, mpi_offset *offset, fortran_int *whence, fortran_int *error)
#define seek_ARGUMENTS file, offset, whence, error
MPI_BODY(seek, , mpi_call_touched(&call, file_of(&call, file), *error))
FORTRAN_OF(SHAPE_ENTRY, seek, MPI_File_seek, mpi_file_seek, MPI_FILE_SEEK)
FORTRAN_OF(SHAPE_ENTRY, seek, MPI_File_seek_shared, mpi_file_seek_shared, MPI_FILE_SEEK_SHARED)

static void count_transfer(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, const fortran_int *status,
                           int error)
{
    if (!call->is_counted)
        return;
    union mpi_status in_c;
    mpi_call_moved(call, mpi_library_file(*file), count, mpi_library_datatype(datatype), status_in_c(call, status, &in_c), error);
}

#define transfer_PARAMETERS (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *status, fortran_int *error)
#define transfer_ARGUMENTS file, buffer, count, datatype, status, error
MPI_BODY(transfer, GET_STATUS, count_transfer(&call, file, *count, *datatype, status, *error))
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_read, mpi_file_read, MPI_FILE_READ)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_read_all, mpi_file_read_all, MPI_FILE_READ_ALL)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_read_shared, mpi_file_read_shared, MPI_FILE_READ_SHARED)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_read_ordered, mpi_file_read_ordered, MPI_FILE_READ_ORDERED)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_write, mpi_file_write, MPI_FILE_WRITE)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_write_all, mpi_file_write_all, MPI_FILE_WRITE_ALL)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_write_shared, mpi_file_write_shared, MPI_FILE_WRITE_SHARED)
FORTRAN_OF(SHAPE_ENTRY, transfer, MPI_File_write_ordered, mpi_file_write_ordered, MPI_FILE_WRITE_ORDERED)

#define transfer_at_PARAMETERS \
    (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *status, fortran_int *error)
#define transfer_at_ARGUMENTS file, offset, buffer, count, datatype, status, error
MPI_BODY(transfer_at, GET_STATUS, count_transfer(&call, file, *count, *datatype, status, *error))
FORTRAN_OF(SHAPE_ENTRY, transfer_at, MPI_File_read_at, mpi_file_read_at, MPI_FILE_READ_AT)
FORTRAN_OF(SHAPE_ENTRY, transfer_at, MPI_File_read_at_all, mpi_file_read_at_all, MPI_FILE_READ_AT_ALL)
FORTRAN_OF(SHAPE_ENTRY, transfer_at, MPI_File_write_at, mpi_file_write_at, MPI_FILE_WRITE_AT)
FORTRAN_OF(SHAPE_ENTRY, transfer_at, MPI_File_write_at_all, mpi_file_write_at_all, MPI_FILE_WRITE_AT_ALL)
