/* MPI-IO in C: opening, closing, attributes, positions, and every blocking read and write. For any thread that may call MPI. */
#include "mpi_c.h"
#include "mpi_files.h"

#define open_file_PARAMETERS (mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file)
#define open_file_ARGUMENTS communicator, name, mode, info, file
MPI_BODY(open_file, , mpi_call_opened(&call, name, error == 0 ? *file : NULL, error))
MPI_ENTRY(open_file, MPI_File_open, MPI_File_open)

#define close_file_PARAMETERS (mpi_handle *file)
#define close_file_ARGUMENTS file
/* Some refuse what has no address. */
MPI_BODY(close_file, uint32_t mount = mpi_files_leave(file != NULL ? *file : NULL), mpi_call_closed(&call, mount, error))
MPI_ENTRY(close_file, MPI_File_close, MPI_File_close)

#define sync_file_PARAMETERS (mpi_handle file)
#define sync_file_ARGUMENTS file
MPI_BODY(sync_file, , mpi_call_touched(&call, file, error))
MPI_ENTRY(sync_file, MPI_File_sync, MPI_File_sync)

#define set_view_PARAMETERS \
    (mpi_handle file, mpi_offset displacement, mpi_handle etype, mpi_handle filetype, const char *representation, mpi_handle info)
#define set_view_ARGUMENTS file, displacement, etype, filetype, representation, info
MPI_BODY(set_view, , mpi_call_touched(&call, file, error))
MPI_ENTRY(set_view, MPI_File_set_view, MPI_File_set_view)

#define delete_file_PARAMETERS (const char *name, mpi_handle info)
#define delete_file_ARGUMENTS name, info
MPI_BODY(delete_file, , mpi_call_named(&call, name, error))
MPI_ENTRY(delete_file, MPI_File_delete, MPI_File_delete)

/* What is set is an offset, an int or a handle, what is got has an address: one word in any case. */
#define attribute_PARAMETERS (mpi_handle file, uintptr_t value)
#define attribute_ARGUMENTS file, value
MPI_BODY(attribute, , mpi_call_touched(&call, file, error))
MPI_ENTRY(attribute, MPI_File_get_size, MPI_File_get_size)
MPI_ENTRY(attribute, MPI_File_get_position_shared, MPI_File_get_position_shared)
MPI_ENTRY(attribute, MPI_File_set_size, MPI_File_set_size)
MPI_ENTRY(attribute, MPI_File_preallocate, MPI_File_preallocate)
MPI_ENTRY(attribute, MPI_File_set_info, MPI_File_set_info)
MPI_ENTRY(attribute, MPI_File_set_atomicity, MPI_File_set_atomicity)

#define seek_PARAMETERS (mpi_handle file, mpi_offset offset, int whence)
#define seek_ARGUMENTS file, offset, whence
MPI_BODY(seek, , mpi_call_touched(&call, file, error))
MPI_ENTRY(seek, MPI_File_seek, MPI_File_seek)
MPI_ENTRY(seek, MPI_File_seek_shared, MPI_File_seek_shared)

#define transfer_PARAMETERS (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *status)
#define transfer_ARGUMENTS file, buffer, count, datatype, status
MPI_BODY(transfer, GET_STATUS, mpi_call_moved(&call, file, count, datatype, status, error))
BOTH_COUNTS(transfer, MPI_File_read)
BOTH_COUNTS(transfer, MPI_File_read_all)
BOTH_COUNTS(transfer, MPI_File_read_shared)
BOTH_COUNTS(transfer, MPI_File_read_ordered)
BOTH_COUNTS(transfer, MPI_File_write)
BOTH_COUNTS(transfer, MPI_File_write_all)
BOTH_COUNTS(transfer, MPI_File_write_shared)
BOTH_COUNTS(transfer, MPI_File_write_ordered)

#define transfer_at_PARAMETERS (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *status)
#define transfer_at_ARGUMENTS file, offset, buffer, count, datatype, status
MPI_BODY(transfer_at, GET_STATUS, mpi_call_moved(&call, file, count, datatype, status, error))
BOTH_COUNTS(transfer_at, MPI_File_read_at)
BOTH_COUNTS(transfer_at, MPI_File_read_at_all)
BOTH_COUNTS(transfer_at, MPI_File_write_at)
BOTH_COUNTS(transfer_at, MPI_File_write_at_all)
